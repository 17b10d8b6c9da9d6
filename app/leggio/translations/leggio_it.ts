<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="it" sourcelanguage="en">
<context>
    <name>About</name>
    <message>
        <source>About Leggio</source>
        <translation>Informazioni su Leggio</translation>
    </message>
    <message>
        <source>Reads pages on this machine. Nothing you open leaves it.</source>
        <translation>Legge le pagine su questo computer. Niente di ciò che apri lo lascia.</translation>
    </message>
    <message>
        <source>The window and the uocr package: AGPL-3.0-or-later. The engine: Apache-2.0.</source>
        <translation>La finestra e il pacchetto uocr: AGPL-3.0-or-later. Il motore: Apache-2.0.</translation>
    </message>
    <message>
        <source>Parts and licences</source>
        <translation>Componenti e licenze</translation>
    </message>
    <message>
        <source>Model: {0} ({1})</source>
        <translation>Modello: {0} ({1})</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;File</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Modifica</translation>
    </message>
    <message>
        <source>&amp;Page</source>
        <translation>&amp;Pagina</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Vista</translation>
    </message>
    <message>
        <source>&amp;Window</source>
        <translation>F&amp;inestra</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Aiuto</translation>
    </message>
    <message>
        <source>Open…</source>
        <translation>Apri…</translation>
    </message>
    <message>
        <source>Open pictures and PDFs</source>
        <translation>Apre immagini e PDF</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Apri</translation>
    </message>
    <message>
        <source>Open folder…</source>
        <translation>Apri cartella…</translation>
    </message>
    <message>
        <source>Open every picture and PDF of a folder</source>
        <translation>Apre tutte le immagini e i PDF di una cartella</translation>
    </message>
    <message>
        <source>Capture part of the screen</source>
        <translation>Cattura una parte dello schermo</translation>
    </message>
    <message>
        <source>Choose a part of the screen and read it</source>
        <translation>Sceglie una parte dello schermo e la legge</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Esporta…</translation>
    </message>
    <message>
        <source>Save the text in a file</source>
        <translation>Salva il testo in un file</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>Esporta</translation>
    </message>
    <message>
        <source>History…</source>
        <translation>Cronologia…</translation>
    </message>
    <message>
        <source>Documents read before, with search</source>
        <translation>I documenti già letti, con ricerca</translation>
    </message>
    <message>
        <source>Close all documents</source>
        <translation>Chiudi tutti i documenti</translation>
    </message>
    <message>
        <source>Empty the list of pages</source>
        <translation>Svuota l&apos;elenco delle pagine</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Impostazioni…</translation>
    </message>
    <message>
        <source>How pages are read and how the window behaves</source>
        <translation>Come si leggono le pagine e come si comporta la finestra</translation>
    </message>
    <message>
        <source>Quit Leggio</source>
        <translation>Esci da Leggio</translation>
    </message>
    <message>
        <source>Stop reading and leave</source>
        <translation>Interrompe la lettura ed esce</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Annulla</translation>
    </message>
    <message>
        <source>Take the last correction back</source>
        <translation>Annulla l&apos;ultima correzione</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Ripristina</translation>
    </message>
    <message>
        <source>Make it again</source>
        <translation>La rifà</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Copia</translation>
    </message>
    <message>
        <source>Copy the selection, or the text of the page</source>
        <translation>Copia la selezione o il testo della pagina</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>Copia come Markdown</translation>
    </message>
    <message>
        <source>Copy the page with headings, tables and formulas as Markdown</source>
        <translation>Copia la pagina con titoli, tabelle e formule come Markdown</translation>
    </message>
    <message>
        <source>Copy as rich text</source>
        <translation>Copia con formattazione</translation>
    </message>
    <message>
        <source>Copy the page with headings and tables, for word processors</source>
        <translation>Copia la pagina con titoli e tabelle, per i programmi di scrittura</translation>
    </message>
    <message>
        <source>Copy text of all pages</source>
        <translation>Copia il testo di tutte le pagine</translation>
    </message>
    <message>
        <source>Copy the text of every page that was read</source>
        <translation>Copia il testo di ogni pagina letta</translation>
    </message>
    <message>
        <source>Paste picture or files</source>
        <translation>Incolla immagine o file</translation>
    </message>
    <message>
        <source>Open what is on the clipboard</source>
        <translation>Apre ciò che è negli appunti</translation>
    </message>
    <message>
        <source>Find…</source>
        <translation>Trova…</translation>
    </message>
    <message>
        <source>Find in the text of the page</source>
        <translation>Cerca nel testo della pagina</translation>
    </message>
    <message>
        <source>Find next</source>
        <translation>Trova successivo</translation>
    </message>
    <message>
        <source>Go to the next place found</source>
        <translation>Va alla prossima occorrenza</translation>
    </message>
    <message>
        <source>Next doubtful word</source>
        <translation>Parola dubbia successiva</translation>
    </message>
    <message>
        <source>Go to the next word the model was unsure of</source>
        <translation>Va alla prossima parola di cui il modello non era sicuro</translation>
    </message>
    <message>
        <source>Doubtful</source>
        <translation>Dubbie</translation>
    </message>
    <message>
        <source>Correct block</source>
        <translation>Correggi blocco</translation>
    </message>
    <message>
        <source>Edit the text of the chosen block</source>
        <translation>Modifica il testo del blocco scelto</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>Leggi</translation>
    </message>
    <message>
        <source>Read the chosen pages, or all that were not read</source>
        <translation>Legge le pagine scelte, o tutte quelle non ancora lette</translation>
    </message>
    <message>
        <source>Read with other settings…</source>
        <translation>Leggi con altre impostazioni…</translation>
    </message>
    <message>
        <source>Choose how these pages are read</source>
        <translation>Sceglie come leggere queste pagine</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pausa</translation>
    </message>
    <message>
        <source>Hold reading, or go on</source>
        <translation>Sospende la lettura o la riprende</translation>
    </message>
    <message>
        <source>Cancel reading</source>
        <translation>Annulla la lettura</translation>
    </message>
    <message>
        <source>Stop now; what was read is kept</source>
        <translation>Si ferma subito; ciò che è stato letto resta</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Annulla</translation>
    </message>
    <message>
        <source>Read a region</source>
        <translation>Leggi un&apos;area</translation>
    </message>
    <message>
        <source>Draw a rectangle on the page and read only that</source>
        <translation>Disegna un rettangolo sulla pagina e legge solo quello</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>Area</translation>
    </message>
    <message>
        <source>Turn right</source>
        <translation>Ruota a destra</translation>
    </message>
    <message>
        <source>Turn the page by 90 degrees and read it that way</source>
        <translation>Ruota la pagina di 90 gradi e la legge così</translation>
    </message>
    <message>
        <source>Turn left</source>
        <translation>Ruota a sinistra</translation>
    </message>
    <message>
        <source>Turn the page by 90 degrees the other way</source>
        <translation>Ruota la pagina di 90 gradi nell&apos;altro verso</translation>
    </message>
    <message>
        <source>Choose pages of the document…</source>
        <translation>Scegli pagine del documento…</translation>
    </message>
    <message>
        <source>Keep only some pages, such as 1-3,7,-1</source>
        <translation>Tiene solo alcune pagine, per esempio 1-3,7,-1</translation>
    </message>
    <message>
        <source>Move up</source>
        <translation>Sposta su</translation>
    </message>
    <message>
        <source>Move the chosen pages towards the start</source>
        <translation>Sposta le pagine scelte verso l&apos;inizio</translation>
    </message>
    <message>
        <source>Move down</source>
        <translation>Sposta giù</translation>
    </message>
    <message>
        <source>Move the chosen pages towards the end</source>
        <translation>Sposta le pagine scelte verso la fine</translation>
    </message>
    <message>
        <source>Remove from list</source>
        <translation>Togli dall&apos;elenco</translation>
    </message>
    <message>
        <source>The file itself stays where it is</source>
        <translation>Il file resta dov&apos;è</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>Ingrandisci</translation>
    </message>
    <message>
        <source>Show the page larger</source>
        <translation>Mostra la pagina più grande</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Riduci</translation>
    </message>
    <message>
        <source>Show the page smaller</source>
        <translation>Mostra la pagina più piccola</translation>
    </message>
    <message>
        <source>Actual size</source>
        <translation>Dimensioni reali</translation>
    </message>
    <message>
        <source>One page pixel on one screen pixel</source>
        <translation>Un pixel della pagina su un pixel dello schermo</translation>
    </message>
    <message>
        <source>Fit page</source>
        <translation>Adatta pagina</translation>
    </message>
    <message>
        <source>Show the whole page</source>
        <translation>Mostra la pagina intera</translation>
    </message>
    <message>
        <source>Fit width</source>
        <translation>Adatta larghezza</translation>
    </message>
    <message>
        <source>Make the page as wide as its part of the window</source>
        <translation>Rende la pagina larga come il suo riquadro</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>Blocchi</translation>
    </message>
    <message>
        <source>Draw a box around every block of text</source>
        <translation>Disegna un riquadro attorno a ogni blocco di testo</translation>
    </message>
    <message>
        <source>What the model sees</source>
        <translation>Ciò che vede il modello</translation>
    </message>
    <message>
        <source>Draw the frames that are cut from the page for the model, and what they cost</source>
        <translation>Disegna i ritagli della pagina dati al modello e quanto costano</translation>
    </message>
    <message>
        <source>Views</source>
        <translation>Viste</translation>
    </message>
    <message>
        <source>Places for a second look</source>
        <translation>Punti da ricontrollare</translation>
    </message>
    <message>
        <source>Mark ink outside every block, and blocks without ink</source>
        <translation>Segna l&apos;inchiostro fuori dai blocchi e i blocchi senza inchiostro</translation>
    </message>
    <message>
        <source>Markdown source</source>
        <translation>Sorgente Markdown</translation>
    </message>
    <message>
        <source>Show the text as Markdown instead of rendered</source>
        <translation>Mostra il testo come Markdown invece che impaginato</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>Sorgente</translation>
    </message>
    <message>
        <source>Minimise</source>
        <translation>Riduci a icona</translation>
    </message>
    <message>
        <source>Put the window away</source>
        <translation>Mette via la finestra</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>Schermo intero</translation>
    </message>
    <message>
        <source>Use the whole screen</source>
        <translation>Usa tutto lo schermo</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modelli…</translation>
    </message>
    <message>
        <source>Download, choose and remove models</source>
        <translation>Scarica, sceglie e rimuove modelli</translation>
    </message>
    <message>
        <source>Save diagnostics file…</source>
        <translation>Salva file di diagnostica…</translation>
    </message>
    <message>
        <source>Versions and settings for a bug report; nothing of your documents</source>
        <translation>Versioni e impostazioni per segnalare un errore; niente dei tuoi documenti</translation>
    </message>
    <message>
        <source>About Leggio</source>
        <translation>Informazioni su Leggio</translation>
    </message>
    <message>
        <source>Versions and licences</source>
        <translation>Versioni e licenze</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>Strumenti</translation>
    </message>
</context>
<context>
    <name>BlockEditor</name>
    <message>
        <source>Correct this block</source>
        <translation>Correggi questo blocco</translation>
    </message>
    <message>
        <source>Click elsewhere or press Ctrl+Return to keep the text, Escape to leave it as it was</source>
        <translation>Fai clic altrove o premi Ctrl+Invio per tenere il testo, Esc per lasciarlo com&apos;era</translation>
    </message>
    <message>
        <source>Tabs part the cells of a row. {0}</source>
        <translation>I tabulatori separano le celle di una riga. {0}</translation>
    </message>
</context>
<context>
    <name>Clipboard</name>
    <message>
        <source>The clipboard did not take the text: another program may be holding it. Try again, or use Export.</source>
        <translation>Gli appunti non hanno preso il testo: forse li tiene un altro programma. Riprova, oppure usa Esporta.</translation>
    </message>
    <message>
        <source>There is no text to copy yet.</source>
        <translation>Non c&apos;è ancora testo da copiare.</translation>
    </message>
    <message>
        <source>Copied {0} characters.</source>
        <translation>Copiati {0} caratteri.</translation>
    </message>
    <message>
        <source>Leave Leggio open until you have pasted: this desktop forgets the clipboard of programs that quit.</source>
        <translation>Tieni aperto Leggio finché non hai incollato: questo desktop dimentica gli appunti dei programmi che si chiudono.</translation>
    </message>
</context>
<context>
    <name>Corrections</name>
    <message>
        <source>Correction</source>
        <translation>Correzione</translation>
    </message>
    <message>
        <source>The model was sure of every word of this page.</source>
        <translation>Il modello era sicuro di ogni parola di questa pagina.</translation>
    </message>
    <message>
        <source>There is ink here that no block covers.</source>
        <translation>Qui c&apos;è inchiostro che nessun blocco copre.</translation>
    </message>
    <message>
        <source>Read this place</source>
        <translation>Leggi questo punto</translation>
    </message>
    <message>
        <source>This block has text, but its place on the page is empty. It may be invented.</source>
        <translation>Questo blocco ha del testo, ma il suo posto sulla pagina è vuoto. Forse è inventato.</translation>
    </message>
    <message>
        <source>Remove this block</source>
        <translation>Togli questo blocco</translation>
    </message>
    <message>
        <source>Remove block</source>
        <translation>Togli blocco</translation>
    </message>
    <message>
        <source>Read again</source>
        <translation>Leggi di nuovo</translation>
    </message>
    <message>
        <source>What was corrected on {0} gave way to a new reading; Undo brings it back.</source>
        <translation>Le correzioni di {0} hanno lasciato il posto a una nuova lettura; Annulla le riporta.</translation>
    </message>
</context>
<context>
    <name>DragHandle</name>
    <message>
        <source>Drag out</source>
        <translation>Trascina</translation>
    </message>
    <message>
        <source>Drag this to a folder or another program: it carries the text as a Markdown file</source>
        <translation>Trascinalo in una cartella o in un altro programma: porta il testo come file Markdown</translation>
    </message>
    <message>
        <source>Drag the text out as a file</source>
        <translation>Trascina fuori il testo come file</translation>
    </message>
</context>
<context>
    <name>EngineStrip</name>
    <message>
        <source>Progress of the page</source>
        <translation>Avanzamento della pagina</translation>
    </message>
    <message>
        <source>Tokens are the pieces of text the model writes one at a time; about four letters each</source>
        <translation>I token sono i pezzi di testo che il modello scrive uno alla volta; circa quattro lettere l&apos;uno</translation>
    </message>
    <message>
        <source>The page is shown to the model as visual tokens; the prompt holds them and the question</source>
        <translation>La pagina è mostrata al modello come token visivi; il prompt contiene questi e la domanda</translation>
    </message>
    <message>
        <source>How finely the model&apos;s numbers are kept (quantisation), and what computes</source>
        <translation>Quanto finemente sono tenuti i numeri del modello (quantizzazione) e chi calcola</translation>
    </message>
    <message>
        <source>Opening the model…</source>
        <translation>Apertura del modello…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Nessun modello</translation>
    </message>
    <message>
        <source>Built-in model</source>
        <translation>Modello incluso</translation>
    </message>
    <message>
        <source>{0} · {1} · {2} threads</source>
        <translation>{0} · {1} · {2} thread</translation>
    </message>
    <message>
        <source>Memory {0} of {1}</source>
        <translation>Memoria {0} di {1}</translation>
    </message>
    <message>
        <source>Looking at the page</source>
        <translation>Guarda la pagina</translation>
    </message>
    <message>
        <source>{0} visual, {1} prompt tokens</source>
        <translation>{0} token visivi, {1} di prompt</translation>
    </message>
    <message>
        <source>Preparing</source>
        <translation>Si prepara</translation>
    </message>
    <message>
        <source>{0}: {1} of {2}</source>
        <translation>{0}: {1} di {2}</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} token</translation>
    </message>
    <message>
        <source>{0} · {1} a second</source>
        <translation>{0} · {1} al secondo</translation>
    </message>
    <message>
        <source>{0} · looked {1} s, wrote {2} s</source>
        <translation>{0} · sguardo {1} s, scrittura {2} s</translation>
    </message>
    <message>
        <source>Reading again: {0}</source>
        <translation>Lettura ripetuta: {0}</translation>
    </message>
    <message>
        <source>Reading again</source>
        <translation>Lettura ripetuta</translation>
    </message>
    <message>
        <source>Second reading kept</source>
        <translation>Vale la 2ª lettura</translation>
    </message>
    <message>
        <source>First reading kept</source>
        <translation>Vale la 1ª lettura</translation>
    </message>
    <message>
        <source>{0} · {1}</source>
        <translation>{0} · {1}</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>Pronto</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>In pausa</translation>
    </message>
    <message>
        <source>Read to the end</source>
        <translation>Letta fino in fondo</translation>
    </message>
    <message>
        <source>Cut short</source>
        <translation>Interrotta</translation>
    </message>
    <message>
        <source>Went in circles</source>
        <translation>Si ripete</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>Annullata</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>Non riuscita</translation>
    </message>
    <message>
        <source>reading takes at most {0}</source>
        <translation>la lettura richiede al massimo {0}</translation>
    </message>
    <message>
        <source>What Leggio holds now, the model included, and the most it may take</source>
        <translation>Ciò che Leggio occupa ora, modello compreso, e il massimo che può usare</translation>
    </message>
    <message>
        <source>Worked out before anything is held: reading this page never takes more. The mark in the bar below</source>
        <translation>Calcolato prima di occupare memoria: leggere questa pagina non ne usa mai di più. È il segno nella barra qui sotto</translation>
    </message>
    <message>
        <source>Reading page {0} of {1}</source>
        <translation>Lettura della pagina {0} di {1}</translation>
    </message>
    <message>
        <source>{0} left</source>
        <translation>ne restano {0}</translation>
    </message>
    <message>
        <source>Nothing was written</source>
        <translation>Non è stato scritto nulla</translation>
    </message>
</context>
<context>
    <name>ExportController</name>
    <message>
        <source>Export</source>
        <translation>Esporta</translation>
    </message>
    <message>
        <source>Writing {0}</source>
        <translation>Scrittura di {0}</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Annulla</translation>
    </message>
    <message>
        <source>Saved {0} ({1} pages).</source>
        <translation>Salvato {0} ({1} pagine).</translation>
    </message>
    <message>
        <source>Saved {0} files in {1}.</source>
        <translation>Salvati {0} file in {1}.</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>Mostra nella cartella</translation>
    </message>
    <message>
        <source>Save elsewhere…</source>
        <translation>Salva altrove…</translation>
    </message>
    <message>
        <source>Copy all text</source>
        <translation>Copia tutto il testo</translation>
    </message>
    <message>
        <source>{0} is already there.</source>
        <translation>{0} esiste già.</translation>
    </message>
    <message>
        <source>Nothing was written. Should it be replaced?</source>
        <translation>Non è stato scritto nulla. Lo sostituisco?</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Sostituisci</translation>
    </message>
    <message>
        <source>Choose another name…</source>
        <translation>Scegli un altro nome…</translation>
    </message>
    <message>
        <source>Leggio ended while {0} was being written: nothing of it is there. Export it again.</source>
        <translation>Leggio si è chiuso mentre scriveva {0}: non ne è rimasto nulla. Esportalo di nuovo.</translation>
    </message>
    <message>
        <source>A file is still being written.</source>
        <translation>Un file è ancora in corso di scrittura.</translation>
    </message>
    <message>
        <source>{0} and {1} more documents</source>
        <translation>{0} e altri {1} documenti</translation>
    </message>
    <message>
        <source>Left out, since they could not be read: pages of {0}.</source>
        <translation>Lasciate fuori perché non è stato possibile leggerle: pagine di {0}.</translation>
    </message>
    <message>
        <source>No page was read: there is nothing to export.</source>
        <translation>Nessuna pagina è stata letta: non c&apos;è nulla da esportare.</translation>
    </message>
</context>
<context>
    <name>ExportDialog</name>
    <message>
        <source>Export</source>
        <translation>Esporta</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Formato</translation>
    </message>
    <message>
        <source>This page</source>
        <translation>Questa pagina</translation>
    </message>
    <message>
        <source>This document</source>
        <translation>Questo documento</translation>
    </message>
    <message>
        <source>All pages that were read</source>
        <translation>Tutte le pagine lette</translation>
    </message>
    <message>
        <source>One file for every page</source>
        <translation>Un file per ogni pagina</translation>
    </message>
    <message>
        <source>Cut pictures out of the pages</source>
        <translation>Ritaglia le immagini dalle pagine</translation>
    </message>
    <message>
        <source>Add text also to pages that already have some</source>
        <translation>Aggiungi testo anche alle pagine che ne hanno già</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Pagine</translation>
    </message>
    <message>
        <source>Choose where…</source>
        <translation>Scegli dove…</translation>
    </message>
    <message>
        <source>Plain text (.txt)</source>
        <translation>Testo semplice (.txt)</translation>
    </message>
    <message>
        <source>Markdown with pictures (.md)</source>
        <translation>Markdown con immagini (.md)</translation>
    </message>
    <message>
        <source>Web page (.html)</source>
        <translation>Pagina web (.html)</translation>
    </message>
    <message>
        <source>Word document (.docx)</source>
        <translation>Documento Word (.docx)</translation>
    </message>
    <message>
        <source>Data with boxes and certainties (.json)</source>
        <translation>Dati con riquadri e certezze (.json)</translation>
    </message>
    <message>
        <source>Searchable PDF (.pdf)</source>
        <translation>PDF ricercabile (.pdf)</translation>
    </message>
    <message>
        <source>The original pages stay as they are; the text lies on them, invisible, to be found and selected.</source>
        <translation>Le pagine originali restano com&apos;erano; il testo vi sta sopra, invisibile, per essere trovato e selezionato.</translation>
    </message>
    <message>
        <source>Every block with its box, its words and how sure the model was.</source>
        <translation>Ogni blocco con il suo riquadro, le parole e la sicurezza del modello.</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in the text</source>
        <translation>Cerca nel testo</translation>
    </message>
    <message>
        <source>Previous place</source>
        <translation>Occorrenza precedente</translation>
    </message>
    <message>
        <source>Next place</source>
        <translation>Occorrenza successiva</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Chiudi</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>Non trovato</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} di {1}</translation>
    </message>
</context>
<context>
    <name>History</name>
    <message>
        <source>The history {0} cannot be used. Move the file away to begin a new one.</source>
        <translation>La cronologia {0} non può essere usata. Sposta il file per cominciarne una nuova.</translation>
    </message>
</context>
<context>
    <name>HistoryDialog</name>
    <message>
        <source>History</source>
        <translation>Cronologia</translation>
    </message>
    <message>
        <source>Search in names and text</source>
        <translation>Cerca nei nomi e nel testo</translation>
    </message>
    <message>
        <source>Documents read before</source>
        <translation>Documenti già letti</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Apri</translation>
    </message>
    <message>
        <source>Forget</source>
        <translation>Dimentica</translation>
    </message>
    <message>
        <source>Forget all…</source>
        <translation>Dimentica tutto…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Chiudi</translation>
    </message>
    <message>
        <source>1 page</source>
        <translation>1 pagina</translation>
    </message>
    <message>
        <source>{0} pages</source>
        <translation>{0} pagine</translation>
    </message>
    <message>
        <source>Forget all</source>
        <translation>Dimentica tutto</translation>
    </message>
    <message>
        <source>Forget every document of the history? The files themselves stay.</source>
        <translation>Dimenticare tutti i documenti della cronologia? I file restano.</translation>
    </message>
    <message>
        <source>Built-in model</source>
        <translation>Modello incluso</translation>
    </message>
</context>
<context>
    <name>Incoming</name>
    <message>
        <source>Only files can be dropped here. Save the web page or picture first, then drop the file.</source>
        <translation>Qui si possono lasciare solo file. Salva prima la pagina web o l&apos;immagine, poi trascina il file.</translation>
    </message>
    <message>
        <source>There is no picture, PDF or folder in this.</source>
        <translation>Qui non c&apos;è nessuna immagine, nessun PDF e nessuna cartella.</translation>
    </message>
</context>
<context>
    <name>Intake</name>
    <message>
        <source>Pictures and PDFs ({0});;All files (*)</source>
        <translation>Immagini e PDF ({0});;Tutti i file (*)</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Apri</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>Apri cartella</translation>
    </message>
    <message>
        <source>The sample pages are missing from this installation.</source>
        <translation>In questa installazione mancano le pagine di esempio.</translation>
    </message>
    <message>
        <source>Pasted picture</source>
        <translation>Immagine incollata</translation>
    </message>
    <message>
        <source>Password for {0}</source>
        <translation>Password di {0}</translation>
    </message>
    <message>
        <source>Encrypted PDF</source>
        <translation>PDF cifrato</translation>
    </message>
</context>
<context>
    <name>Languages</name>
    <message>
        <source>Czech</source>
        <translation>ceco</translation>
    </message>
    <message>
        <source>Danish</source>
        <translation>danese</translation>
    </message>
    <message>
        <source>German</source>
        <translation>tedesco</translation>
    </message>
    <message>
        <source>English</source>
        <translation>inglese</translation>
    </message>
    <message>
        <source>Spanish</source>
        <translation>spagnolo</translation>
    </message>
    <message>
        <source>French</source>
        <translation>francese</translation>
    </message>
    <message>
        <source>Hungarian</source>
        <translation>ungherese</translation>
    </message>
    <message>
        <source>Italian</source>
        <translation>italiano</translation>
    </message>
    <message>
        <source>Dutch</source>
        <translation>olandese</translation>
    </message>
    <message>
        <source>Polish</source>
        <translation>polacco</translation>
    </message>
    <message>
        <source>Portuguese</source>
        <translation>portoghese</translation>
    </message>
    <message>
        <source>Swedish</source>
        <translation>svedese</translation>
    </message>
    <message>
        <source>The open model reads {0}. Other languages in Latin letters come out with wrong accents, often unnoticed.</source>
        <translation>Il modello aperto legge {0}. Altre lingue in lettere latine escono con accenti sbagliati, spesso senza avviso.</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Use the built-in model</source>
        <translation>Usa il modello incluso</translation>
    </message>
    <message>
        <source>Dropped picture</source>
        <translation>Immagine trascinata</translation>
    </message>
    <message>
        <source>{0} — Leggio</source>
        <translation>{0} — Leggio</translation>
    </message>
    <message>
        <source>{0} was not trained to read several pages in one pass: pages are read one by one.</source>
        <translation>{0} non è stato addestrato a leggere più pagine insieme: le pagine si leggono una per una.</translation>
    </message>
    <message>
        <source>What is read cannot be kept for a later start; it is read all the same.</source>
        <translation>Ciò che si legge non può essere conservato per un altro avvio; la lettura va avanti comunque.</translation>
    </message>
</context>
<context>
    <name>Memory</name>
    <message>
        <source>Model</source>
        <translation>Modello</translation>
    </message>
    <message>
        <source>Text memory</source>
        <translation>Memoria del testo</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>Looking</source>
        <translation>Sguardo</translation>
    </message>
    <message>
        <source>Picture features</source>
        <translation>Tratti dell&apos;immagine</translation>
    </message>
    <message>
        <source>Page pixels</source>
        <translation>Pixel della pagina</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Scrittura</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Esperti</translation>
    </message>
    <message>
        <source>Word choice</source>
        <translation>Scelta delle parole</translation>
    </message>
    <message>
        <source>Short-lived</source>
        <translation>Di passaggio</translation>
    </message>
    <message>
        <source>The model file, mapped from disk (model views). Other programs may share it.</source>
        <translation>Il file del modello, mappato dal disco (model views). Altri programmi possono condividerlo.</translation>
    </message>
    <message>
        <source>Keys and values of the text so far (KV cache). Fixed in size, however long the page.</source>
        <translation>Chiavi e valori del testo fin qui (KV cache). Di grandezza fissa, per quanto lunga sia la pagina.</translation>
    </message>
    <message>
        <source>The question to the model, picture included (prompt embeddings).</source>
        <translation>La domanda al modello, immagine compresa (prompt embeddings).</translation>
    </message>
    <message>
        <source>Working space while the page is looked at (vision workspace).</source>
        <translation>Spazio di lavoro mentre si guarda la pagina (vision workspace).</translation>
    </message>
    <message>
        <source>What was seen on the page (vision features).</source>
        <translation>Ciò che si è visto sulla pagina (vision features).</translation>
    </message>
    <message>
        <source>Pixels on their way to the engine (host staging).</source>
        <translation>Pixel in viaggio verso il motore (host staging).</translation>
    </message>
    <message>
        <source>Working space while text is written (decoder scratch).</source>
        <translation>Spazio di lavoro mentre si scrive il testo (decoder scratch).</translation>
    </message>
    <message>
        <source>Working space of the experts (mixture-of-experts scratch).</source>
        <translation>Spazio di lavoro degli esperti (mixture-of-experts scratch).</translation>
    </message>
    <message>
        <source>Scores of the possible next pieces of text (logits).</source>
        <translation>Punteggi dei possibili pezzi di testo successivi (logits).</translation>
    </message>
    <message>
        <source>Held for a moment only (transient).</source>
        <translation>Tenuta solo per un momento (transient).</translation>
    </message>
    <message>
        <source>Needed</source>
        <translation>Necessaria</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Disponibile</translation>
    </message>
    <message>
        <source>The most that is held at one time; what is given back meanwhile counts once.</source>
        <translation>Il massimo occupato nello stesso momento; ciò che nel frattempo si libera conta una volta sola.</translation>
    </message>
    <message>
        <source>The most that Leggio may take, set under Settings, Model.</source>
        <translation>Il massimo che Leggio può usare, si sceglie in Impostazioni, Modello.</translation>
    </message>
    <message>
        <source>Not held at the same time</source>
        <translation>Non occupati insieme</translation>
    </message>
    <message>
        <source>The page is looked at before it is written: of these two, what takes less counts in the other.</source>
        <translation>La pagina viene prima guardata e poi scritta: di questi due, il minore rientra nell&apos;altro.</translation>
    </message>
</context>
<context>
    <name>MemoryBar</name>
    <message>
        <source>Memory in use</source>
        <translation>Memoria in uso</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} di {1}</translation>
    </message>
    <message>
        <source> (at most {0} promised)</source>
        <translation> (promesso: al massimo {0})</translation>
    </message>
    <message>
        <source>Budget: {0}</source>
        <translation>Disponibile: {0}</translation>
    </message>
    <message>
        <source>Promised before reading: at most {0}</source>
        <translation>Promesso prima di leggere: al massimo {0}</translation>
    </message>
</context>
<context>
    <name>ModelSheet</name>
    <message>
        <source>Models</source>
        <translation>Modelli</translation>
    </message>
    <message>
        <source>Models on this machine</source>
        <translation>Modelli su questo computer</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>Usa</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Rimuovi…</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>Su questo computer</translation>
    </message>
    <message>
        <source>Get the full model: {0}</source>
        <translation>Scarica il modello completo: {0}</translation>
    </message>
    <message>
        <source>Reads many languages, tables, formulas and handwriting. Fetched once, then used without a network.</source>
        <translation>Legge molte lingue, tabelle, formule e scrittura a mano. Si scarica una volta, poi si usa senza rete.</translation>
    </message>
    <message>
        <source>Quantisation</source>
        <translation>Quantizzazione</translation>
    </message>
    <message>
        <source>How finely the model&apos;s numbers are kept: q4 is smallest and fastest, f16 closest to the original</source>
        <translation>Quanto finemente sono tenuti i numeri del modello: q4 è il più piccolo e veloce, f16 il più vicino all&apos;originale</translation>
    </message>
    <message>
        <source>{0}: about {1} when done</source>
        <translation>{0}: alla fine circa {1}</translation>
    </message>
    <message>
        <source>Get</source>
        <translation>Scarica</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pausa</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Ferma</translation>
    </message>
    <message>
        <source>Progress of the download</source>
        <translation>Avanzamento dello scaricamento</translation>
    </message>
    <message>
        <source>Built-in model: clean printed Latin text</source>
        <translation>Modello incluso: testo latino stampato e pulito</translation>
    </message>
    <message>
        <source>{0} (in use)</source>
        <translation>{0} (in uso)</translation>
    </message>
    <message>
        <source>Remove model</source>
        <translation>Rimuovi modello</translation>
    </message>
    <message>
        <source>Remove {0} {1} from this machine? It can be fetched again.</source>
        <translation>Rimuovere {0} {1} da questo computer? Si potrà scaricare di nuovo.</translation>
    </message>
    <message>
        <source>{0} are free again.</source>
        <translation>{0} di nuovo liberi.</translation>
    </message>
    <message>
        <source>Downloads {0}; needs {1} of disk for a while, {2} are free.</source>
        <translation>Scarica {0}; per un po&apos; servono {1} di disco, {2} sono liberi.</translation>
    </message>
    <message>
        <source>That is not enough: make room first.</source>
        <translation>Non bastano: fai prima spazio.</translation>
    </message>
    <message>
        <source>Asking for the list of files…</source>
        <translation>Richiesta dell&apos;elenco dei file…</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Riprendi</translation>
    </message>
    <message>
        <source>Downloading: {0} of {1}</source>
        <translation>Scaricamento: {0} di {1}</translation>
    </message>
    <message>
        <source>Converting: {0} of {1}</source>
        <translation>Conversione: {0} di {1}</translation>
    </message>
    <message>
        <source>, about {0} left</source>
        <translation>, mancano circa {0}</translation>
    </message>
    <message>
        <source>Paused. What was downloaded is kept, also when you quit.</source>
        <translation>In pausa. Ciò che è stato scaricato resta, anche se esci.</translation>
    </message>
    <message>
        <source>{0} {1} is ready. Choose it above and press Use.</source>
        <translation>{0} {1} è pronto. Sceglilo qui sopra e premi Usa.</translation>
    </message>
    <message>
        <source>Stopped. What was downloaded is kept; Get goes on from there.</source>
        <translation>Fermato. Ciò che è stato scaricato resta; Scarica riprende da lì.</translation>
    </message>
    <message>
        <source>Downloads about {0}; needs about {1} of disk for a while, {2} are free.</source>
        <translation>Scarica circa {0}; servono per un po&apos; circa {1} di disco, {2} sono liberi.</translation>
    </message>
    <message>
        <source>{0} of it are here already: Get goes on from there.</source>
        <translation>{0} sono già qui: Scarica riprende da lì.</translation>
    </message>
</context>
<context>
    <name>Notice</name>
    <message>
        <source>Dismiss</source>
        <translation>Chiudi l&apos;avviso</translation>
    </message>
</context>
<context>
    <name>Opener</name>
    <message>
        <source>The folder {0} holds no picture and no PDF.</source>
        <translation>La cartella {0} non contiene né immagini né PDF.</translation>
    </message>
</context>
<context>
    <name>PageActions</name>
    <message>
        <source>Choose pages</source>
        <translation>Scegli pagine</translation>
    </message>
    <message>
        <source>Pages of {0} to keep, such as 1-3,7,-1</source>
        <translation>Pagine di {0} da tenere, per esempio 1-3,7,-1</translation>
    </message>
    <message>
        <source>{0} is no choice among the {1} pages of {2}; write it as 1-3,7,-1.</source>
        <translation>{0} non è una scelta tra le {1} pagine di {2}; scrivila come 1-3,7,-1.</translation>
    </message>
    <message>
        <source>Turn around</source>
        <translation>Capovolgi</translation>
    </message>
    <message>
        <source>Turn right</source>
        <translation>A destra</translation>
    </message>
    <message>
        <source>Turn left</source>
        <translation>A sinistra</translation>
    </message>
</context>
<context>
    <name>PageCanvas</name>
    <message>
        <source>Page</source>
        <translation>Pagina</translation>
    </message>
    <message>
        <source>Visual tokens that this part of the page costs</source>
        <translation>Token visivi che costa questa parte della pagina</translation>
    </message>
</context>
<context>
    <name>PageDelegate</name>
    <message>
        <source>Page {0}</source>
        <translation>Pagina {0}</translation>
    </message>
</context>
<context>
    <name>PageList</name>
    <message>
        <source>Pages</source>
        <translation>Pagine</translation>
    </message>
    <message>
        <source>Pages appear here.</source>
        <translation>Qui compaiono le pagine.</translation>
    </message>
</context>
<context>
    <name>Pages</name>
    <message>
        <source>Looking</source>
        <translation>Sguardo</translation>
    </message>
    <message>
        <source>Preparing</source>
        <translation>Si prepara</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Scrittura</translation>
    </message>
    <message>
        <source>Reading again</source>
        <translation>Lettura ripetuta</translation>
    </message>
    <message>
        <source>Reading</source>
        <translation>Lettura</translation>
    </message>
    <message>
        <source>Not read</source>
        <translation>Non letta</translation>
    </message>
    <message>
        <source>Waiting</source>
        <translation>In attesa</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Letta</translation>
    </message>
    <message>
        <source>Cut short</source>
        <translation>Interrotta</translation>
    </message>
    <message>
        <source>Went in circles</source>
        <translation>Si ripete</translation>
    </message>
    <message>
        <source>Blank</source>
        <translation>Vuota</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>Non riuscita</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>Annullata</translation>
    </message>
    <message>
        <source>The page did not fit: reading stopped after {0} tokens, the text below ends early.</source>
        <translation>La pagina non ci stava: la lettura si è fermata dopo {0} token, il testo qui sotto finisce prima.</translation>
    </message>
    <message>
        <source>The model began to repeat itself and was stopped. The text below ends early.</source>
        <translation>Il modello ha cominciato a ripetersi ed è stato fermato. Il testo qui sotto finisce prima.</translation>
    </message>
    <message>
        <source>This page is blank: there is nothing to read on it.</source>
        <translation>Questa pagina è vuota: non c&apos;è nulla da leggere.</translation>
    </message>
    <message>
        <source>Reading was cancelled. What was read until then is kept.</source>
        <translation>La lettura è stata annullata. Ciò che era stato letto resta.</translation>
    </message>
    <message>
        <source>{0} x {1} pixels</source>
        <translation>{0} x {1} pixel</translation>
    </message>
    <message>
        <source>The PDF page already carries text</source>
        <translation>La pagina PDF ha già del testo</translation>
    </message>
    <message>
        <source>Read twice: the second reading was surer</source>
        <translation>Letta due volte: la seconda lettura era più sicura</translation>
    </message>
    <message>
        <source>Read twice: the first reading was surer</source>
        <translation>Letta due volte: la prima lettura era più sicura</translation>
    </message>
    <message>
        <source>No text found</source>
        <translation>Nessun testo trovato</translation>
    </message>
    <message>
        <source>Unsure</source>
        <translation>Incerta</translation>
    </message>
    <message>
        <source>The model was only {0} sure of this page: the text may be wrong.</source>
        <translation>Il modello era sicuro di questa pagina solo al {0}: il testo può essere sbagliato.</translation>
    </message>
    <message>
        <source>No text was found, though there is ink on the page: it may be turned, too small or blurred, or in a script or hand that the model does not read.</source>
        <translation>Non è stato trovato testo, ma sulla pagina c&apos;è inchiostro: può essere girata, troppo piccola o sfocata, oppure in una scrittura o in una grafia che il modello non legge.</translation>
    </message>
    <message>
        <source>The model was only {0} sure of this page, and of hardly any word: the page may be turned, too small or blurred, or in a script or hand that the model does not read.</source>
        <translation>Il modello era sicuro di questa pagina solo al {0}, e di quasi nessuna parola: la pagina può essere girata, troppo piccola o sfocata, oppure in una scrittura o in una grafia che il modello non legge.</translation>
    </message>
</context>
<context>
    <name>Presenter</name>
    <message>
        <source>Maybe missed: there is ink here that no block covers. Click to read it.</source>
        <translation>Forse saltato: qui c&apos;è inchiostro che nessun blocco copre. Fai clic per leggerlo.</translation>
    </message>
    <message>
        <source>Maybe invented: a block says there is text here, but there is no ink.</source>
        <translation>Forse inventato: un blocco dice che qui c&apos;è testo, ma non c&apos;è inchiostro.</translation>
    </message>
</context>
<context>
    <name>Quit</name>
    <message>
        <source>Pages are still being read.</source>
        <translation>Alcune pagine sono ancora in lettura.</translation>
    </message>
    <message>
        <source>A file is still being written.</source>
        <translation>Un file è ancora in scrittura.</translation>
    </message>
    <message>
        <source>Pages that are done are kept; reading can go on at the next start.</source>
        <translation>Le pagine lette restano; la lettura potrà riprendere al prossimo avvio.</translation>
    </message>
    <message>
        <source>If you quit now, the file is not written.</source>
        <translation>Se esci ora, il file non viene scritto.</translation>
    </message>
    <message>
        <source>Stop and quit</source>
        <translation>Ferma ed esci</translation>
    </message>
    <message>
        <source>Stay</source>
        <translation>Resta</translation>
    </message>
</context>
<context>
    <name>RatePlot</name>
    <message>
        <source>Tokens a second</source>
        <translation>Token al secondo</translation>
    </message>
    <message>
        <source>Tokens a second: how fast the text is written, the newest on the right</source>
        <translation>Token al secondo: quanto in fretta si scrive il testo, i più recenti a destra</translation>
    </message>
</context>
<context>
    <name>ReadWithDialog</name>
    <message>
        <source>Read with other settings</source>
        <translation>Leggi con altre impostazioni</translation>
    </message>
    <message>
        <source>These hold for the chosen page only.</source>
        <translation>Valgono solo per la pagina scelta.</translation>
    </message>
    <message>
        <source>These hold for {0} chosen pages only.</source>
        <translation>Valgono solo per {0} pagine scelte.</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>Leggi</translation>
    </message>
</context>
<context>
    <name>Resume</name>
    <message>
        <source>Reading of {0} stopped after page {1} of {2}.</source>
        <translation>La lettura di {0} si è fermata dopo la pagina {1} di {2}.</translation>
    </message>
    <message>
        <source>Reading of {0} documents did not come to its end.</source>
        <translation>La lettura di {0} documenti non è arrivata in fondo.</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>Continua</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Scarta</translation>
    </message>
    <message>
        <source>{0} cannot go on: {1}</source>
        <translation>{0} non può continuare: {1}</translation>
    </message>
    <message>
        <source>Read it from the start</source>
        <translation>Leggilo dall&apos;inizio</translation>
    </message>
    <message>
        <source>{0} is no longer at its place; the text is shown without its pages.</source>
        <translation>{0} non è più al suo posto; il testo è mostrato senza le pagine.</translation>
    </message>
</context>
<context>
    <name>ScreenCapture</name>
    <message>
        <source>Parts of the screen cannot be captured here: this desktop offers no screenshot portal. Take a screenshot with the desktop&apos;s own tool and paste it.</source>
        <translation>Qui non si possono catturare parti dello schermo: questo desktop non offre un portale per farlo. Usa lo strumento del desktop e incolla l&apos;immagine.</translation>
    </message>
    <message>
        <source>The desktop refused the screenshot: {0}</source>
        <translation>Il desktop ha rifiutato la cattura: {0}</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>as the model suggests</source>
        <translation>come suggerisce il modello</translation>
    </message>
    <message>
        <source>the system&apos;s</source>
        <translation>quella del sistema</translation>
    </message>
    <message>
        <source>all</source>
        <translation>tutti</translation>
    </message>
    <message>
        <source>the model&apos;s limit</source>
        <translation>il limite del modello</translation>
    </message>
    <message>
        <source>never stop</source>
        <translation>mai fermarsi</translation>
    </message>
    <message>
        <source>as the model says</source>
        <translation>come dice il modello</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>Come il sistema</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Chiaro</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Scuro</translation>
    </message>
    <message>
        <source>tiny (512 pixels)</source>
        <translation>minima (512 pixel)</translation>
    </message>
    <message>
        <source>small (640 pixels)</source>
        <translation>piccola (640 pixel)</translation>
    </message>
    <message>
        <source>base (1024 pixels)</source>
        <translation>base (1024 pixel)</translation>
    </message>
    <message>
        <source>large (1280 pixels)</source>
        <translation>grande (1280 pixel)</translation>
    </message>
    <message>
        <source>gundam (1024 pixels and close-ups)</source>
        <translation>gundam (1024 pixel e ingrandimenti)</translation>
    </message>
    <message>
        <source>fast</source>
        <translation>veloce</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>esatta</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modello</translation>
    </message>
    <message>
        <source>built-in, a name that was downloaded, or a .uocr file</source>
        <translation>built-in, il nome di uno scaricato o un file .uocr</translation>
    </message>
    <message>
        <source>Quantisation</source>
        <translation>Quantizzazione</translation>
    </message>
    <message>
        <source>How finely the model&apos;s numbers are kept: f16 is closest, q4 is smallest</source>
        <translation>Quanto finemente sono tenuti i numeri del modello: f16 è il più fedele, q4 il più piccolo</translation>
    </message>
    <message>
        <source>Memory budget</source>
        <translation>Memoria disponibile</translation>
    </message>
    <message>
        <source>Most memory, model included, such as &quot;4 GB&quot;; 0: 80 % of this machine</source>
        <translation>Memoria massima, modello compreso, per esempio &quot;4 GB&quot;; 0: l&apos;80 % di questo computer</translation>
    </message>
    <message>
        <source>Processors</source>
        <translation>Processori</translation>
    </message>
    <message>
        <source>How many threads the engine may use; 0: all</source>
        <translation>Quanti thread può usare il motore; 0: tutti</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Precisione</translation>
    </message>
    <message>
        <source>exact repeats the reference arithmetic and is slower</source>
        <translation>esatta ripete l&apos;aritmetica di riferimento ed è più lenta</translation>
    </message>
    <message>
        <source>Read pages as soon as they are opened</source>
        <translation>Leggi le pagine appena aperte</translation>
    </message>
    <message>
        <source>Otherwise pages wait for the Read button</source>
        <translation>Altrimenti aspettano il pulsante Leggi</translation>
    </message>
    <message>
        <source>Show the page that is being read</source>
        <translation>Mostra la pagina in lettura</translation>
    </message>
    <message>
        <source>Until you choose another page yourself</source>
        <translation>Finché non ne scegli un&apos;altra</translation>
    </message>
    <message>
        <source>Mark words below</source>
        <translation>Segna le parole sotto</translation>
    </message>
    <message>
        <source>Percent of certainty under which a word is marked; 0: as the model suggests</source>
        <translation>Percentuale di certezza sotto cui una parola è segnata; 0: come suggerisce il modello</translation>
    </message>
    <message>
        <source>Keep a history of documents</source>
        <translation>Tieni una cronologia dei documenti</translation>
    </message>
    <message>
        <source>Stored on this machine only; needed to go on after an interruption</source>
        <translation>Solo su questo computer; serve per continuare dopo un&apos;interruzione</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>Dimensione del testo</translation>
    </message>
    <message>
        <source>Points; 0: the system&apos;s size</source>
        <translation>Punti; 0: quella del sistema</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Aspetto</translation>
    </message>
    <message>
        <source>Light, dark, or what the system says</source>
        <translation>Chiaro, scuro o come dice il sistema</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Lingua</translation>
    </message>
    <message>
        <source>Takes effect at the next start</source>
        <translation>Vale dal prossimo avvio</translation>
    </message>
    <message>
        <source>Views of a page</source>
        <translation>Viste di una pagina</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>PDF resolution</source>
        <translation>Risoluzione dei PDF</translation>
    </message>
    <message>
        <source>Longest text of a page</source>
        <translation>Testo più lungo di una pagina</translation>
    </message>
    <message>
        <source>Repeat guard: length</source>
        <translation>Contro le ripetizioni: lunghezza</translation>
    </message>
    <message>
        <source>Repeat guard: window</source>
        <translation>Contro le ripetizioni: finestra</translation>
    </message>
    <message>
        <source>Call it a loop after</source>
        <translation>È un circolo dopo</translation>
    </message>
    <message>
        <source>Loop: look back</source>
        <translation>Circolo: quanto indietro</translation>
    </message>
    <message>
        <source>Read a page again where the model looks lost</source>
        <translation>Rileggi la pagina dove il modello sembra perdersi</translation>
    </message>
    <message>
        <source>How the page is cut for the model: tiny to large, or gundam with close-ups</source>
        <translation>Come si ritaglia la pagina per il modello: da minima a grande, o gundam con ingrandimenti</translation>
    </message>
    <message>
        <source>What the model is asked; empty: its own question</source>
        <translation>Che cosa si chiede al modello; vuoto: la sua domanda</translation>
    </message>
    <message>
        <source>Dots an inch at which PDF pages are drawn before reading</source>
        <translation>Punti per pollice con cui si disegnano le pagine PDF prima di leggerle</translation>
    </message>
    <message>
        <source>Tokens after which a page is cut short; 0: the model&apos;s limit</source>
        <translation>Token dopo i quali una pagina è interrotta; 0: il limite del modello</translation>
    </message>
    <message>
        <source>No sequence of this many tokens twice; 0: off</source>
        <translation>Nessuna sequenza di tanti token due volte; 0: spento</translation>
    </message>
    <message>
        <source>How many tokens back the guard looks</source>
        <translation>Quanti token indietro si guarda</translation>
    </message>
    <message>
        <source>Times the guard had to act before reading stops</source>
        <translation>Quante volte si deve intervenire prima di fermarsi</translation>
    </message>
    <message>
        <source>Tokens looked back for that; 0: never stop</source>
        <translation>Token guardati indietro per questo; 0: mai fermarsi</translation>
    </message>
    <message>
        <source>Such a page is shown to the model once more, a little smaller, and the reading that it is surer of is kept. Takes twice the time there. Only for models that say when they look lost.</source>
        <translation>Il modello rivede quella pagina un poco più piccola e resta la lettura di cui è più sicuro. Lì il tempo raddoppia. Solo per modelli che dicono quando sembrano perdersi.</translation>
    </message>
    <message>
        <source>The model in use was not trained for it.</source>
        <translation>Il modello in uso non è stato addestrato per questo.</translation>
    </message>
    <message>
        <source>The model in use does not say when it looks lost.</source>
        <translation>Il modello in uso non dice quando sembra perdersi.</translation>
    </message>
    <message>
        <source>Read the pages of a document together</source>
        <translation>Leggi insieme le pagine di un documento</translation>
    </message>
    <message>
        <source>The model sees several pages at once, in context: tables and sentences may go on over page ends. Takes more memory; close-ups are not made. Only for models that were trained for it.</source>
        <translation>Il modello vede più pagine insieme, nel loro contesto: tabelle e frasi possono continuare da una pagina all&apos;altra. Serve più memoria; non si fanno ingrandimenti. Solo per modelli addestrati a farlo.</translation>
    </message>
    <message>
        <source>80 % of this machine</source>
        <translation>80 % di questo computer</translation>
    </message>
    <message>
        <source>{0}: not trained for it</source>
        <translation>{0}: modello non addestrato</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>Impostazioni</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>Finestra</translation>
    </message>
    <message>
        <source>Reading</source>
        <translation>Lettura</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modello</translation>
    </message>
    <message>
        <source>Defaults</source>
        <translation>Predefinite</translation>
    </message>
    <message>
        <source>One of the values under Reading makes no sense.</source>
        <translation>Uno dei valori in Lettura non ha senso.</translation>
    </message>
    <message>
        <source>The memory budget needs a number with its unit, such as &quot;512 MB&quot; or &quot;4 GB&quot;.</source>
        <translation>Il limite di memoria richiede un numero con la sua unità, come &quot;512 MB&quot; o &quot;4 GB&quot;.</translation>
    </message>
</context>
<context>
    <name>Sheets</name>
    <message>
        <source>{0} is ready to be used.</source>
        <translation>{0} è pronto per l&apos;uso.</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modelli…</translation>
    </message>
    <message>
        <source>Save diagnostics file</source>
        <translation>Salva file di diagnostica</translation>
    </message>
    <message>
        <source>{0} could not be written: {1}. Choose another folder.</source>
        <translation>Non si può scrivere {0}: {1}. Scegli un&apos;altra cartella.</translation>
    </message>
    <message>
        <source>Saved {0}. It holds versions and settings, nothing of your documents.</source>
        <translation>Salvato {0}. Contiene versioni e impostazioni, niente dei tuoi documenti.</translation>
    </message>
</context>
<context>
    <name>SourceView</name>
    <message>
        <source>Markdown of the page</source>
        <translation>Markdown della pagina</translation>
    </message>
</context>
<context>
    <name>Told</name>
    <message>
        <source>English</source>
        <translation>Italiano</translation>
    </message>
    <message>
        <source>This</source>
        <translation>Questo file</translation>
    </message>
    <message>
        <source>{0} cannot be opened: {1}.</source>
        <translation>{0} non può essere aperto: {1}.</translation>
    </message>
    <message>
        <source>There is a remark on this; point here to read it.</source>
        <translation>C&apos;è un&apos;osservazione su questo; passa qui con il puntatore per leggerla.</translation>
    </message>
    <message>
        <source>There are {0} remarks on this; point here to read them.</source>
        <translation>Ci sono {0} osservazioni su questo; passa qui con il puntatore per leggerle.</translation>
    </message>
    <message>
        <source>the disk is full</source>
        <translation>il disco è pieno</translation>
    </message>
    <message>
        <source>the disk quota is used up</source>
        <translation>lo spazio concesso sul disco è esaurito</translation>
    </message>
    <message>
        <source>the disk is read-only</source>
        <translation>il disco è di sola lettura</translation>
    </message>
    <message>
        <source>permission is denied</source>
        <translation>il permesso è negato</translation>
    </message>
    <message>
        <source>it is not there, or not any more</source>
        <translation>non c&apos;è, o non c&apos;è più</translation>
    </message>
    <message>
        <source>a file stands where a folder should be</source>
        <translation>c&apos;è un file dove dovrebbe esserci una cartella</translation>
    </message>
    <message>
        <source>a folder has that name</source>
        <translation>una cartella ha quel nome</translation>
    </message>
    <message>
        <source>the name is too long</source>
        <translation>il nome è troppo lungo</translation>
    </message>
    <message>
        <source>the disk reports an error</source>
        <translation>il disco segnala un errore</translation>
    </message>
    <message>
        <source>{0}: something went wrong that was not foreseen.</source>
        <translation>{0}: è successo qualcosa di imprevisto.</translation>
    </message>
    <message>
        <source>{0} is damaged, or no picture and no PDF that can be read.</source>
        <translation>{0} è danneggiato, oppure non è un&apos;immagine o un PDF che si possa leggere.</translation>
    </message>
    <message>
        <source>{0} needs {1} of memory, the budget is {2}.</source>
        <translation>{0} richiede {1} di memoria, il limite è {2}.</translation>
    </message>
    <message>
        <source>the file</source>
        <translation>il file</translation>
    </message>
    <message>
        <source>the settings</source>
        <translation>le impostazioni</translation>
    </message>
    <message>
        <source>the model</source>
        <translation>il modello</translation>
    </message>
    <message>
        <source>the program&apos;s version</source>
        <translation>la versione del programma</translation>
    </message>
    <message>
        <source>what was written down of {0} cannot be used.</source>
        <translation>ciò che era stato annotato di {0} non può essere usato.</translation>
    </message>
    <message>
        <source>since it was read, this has changed: {0}.</source>
        <translation>dopo la lettura è cambiato: {0}.</translation>
    </message>
    <message>
        <source>the system refuses it</source>
        <translation>il sistema lo rifiuta</translation>
    </message>
    <message>
        <source>{0} cannot be written: {1}. The text is kept; choose another place.</source>
        <translation>{0} non può essere scritto: {1}. Il testo è al sicuro; scegli un altro posto.</translation>
    </message>
    <message>
        <source>Downloads are switched off (HF_HUB_OFFLINE).</source>
        <translation>I download sono disattivati (HF_HUB_OFFLINE).</translation>
    </message>
    <message>
        <source>The model&apos;s terms must be accepted at the hub first.</source>
        <translation>Prima bisogna accettare le condizioni del modello sull&apos;hub.</translation>
    </message>
    <message>
        <source>The hub has no such model.</source>
        <translation>L&apos;hub non ha un modello con questo nome.</translation>
    </message>
    <message>
        <source>The hub&apos;s certificate is not trusted; SSL_CERT_FILE can name your company&apos;s.</source>
        <translation>Il certificato dell&apos;hub non è riconosciuto; SSL_CERT_FILE può indicare quello della tua azienda.</translation>
    </message>
    <message>
        <source>The file that SSL_CERT_FILE names cannot be used.</source>
        <translation>Il file indicato da SSL_CERT_FILE non può essere usato.</translation>
    </message>
    <message>
        <source>The proxy cannot be reached or refuses; look at HTTPS_PROXY.</source>
        <translation>Il proxy non risponde o rifiuta; controlla HTTPS_PROXY.</translation>
    </message>
    <message>
        <source>The hub did not answer. What has arrived is kept.</source>
        <translation>L&apos;hub non ha risposto. Ciò che è arrivato è conservato.</translation>
    </message>
    <message>
        <source>There is no network. What has arrived is kept.</source>
        <translation>Non c&apos;è rete. Ciò che è arrivato è conservato.</translation>
    </message>
    <message>
        <source>The connection broke off. What has arrived is kept.</source>
        <translation>La connessione si è interrotta. Ciò che è arrivato è conservato.</translation>
    </message>
    <message>
        <source>The disk is full or cannot be written; make room.</source>
        <translation>Il disco è pieno o non si può scrivere; fai spazio.</translation>
    </message>
    <message>
        <source>A file arrived damaged and was thrown away.</source>
        <translation>Un file è arrivato danneggiato ed è stato scartato.</translation>
    </message>
    <message>
        <source>Another program is fetching this model.</source>
        <translation>Un altro programma sta scaricando questo modello.</translation>
    </message>
    <message>
        <source>The hub answered with status {0}; try again later.</source>
        <translation>L&apos;hub ha risposto con lo stato {0}; riprova più tardi.</translation>
    </message>
    <message>
        <source>{0} could not be fetched.</source>
        <translation>Non è stato possibile scaricare {0}.</translation>
    </message>
    <message>
        <source>{0} is encrypted and needs its password.</source>
        <translation>{0} è cifrato e richiede la password.</translation>
    </message>
    <message>
        <source>{0} is empty: there is nothing in it to read.</source>
        <translation>{0} è vuoto: non c&apos;è nulla da leggere.</translation>
    </message>
    <message>
        <source>{0} is larger than what can be opened safely.</source>
        <translation>{0} è più grande di quanto si possa aprire senza rischi.</translation>
    </message>
    <message>
        <source>{0} cannot be read with these settings.</source>
        <translation>{0} non può essere letto con queste impostazioni.</translation>
    </message>
    <message>
        <source>{0} cannot be used.</source>
        <translation>{0} non può essere usato.</translation>
    </message>
    <message>
        <source>{0}: there is no such model on this machine.</source>
        <translation>{0}: su questo computer non c&apos;è un modello con questo nome.</translation>
    </message>
    <message>
        <source>{0}: the model file is damaged or of another version.</source>
        <translation>{0}: il file del modello è danneggiato o di un&apos;altra versione.</translation>
    </message>
    <message>
        <source>{0}: the model cannot be converted.</source>
        <translation>{0}: il modello non può essere convertito.</translation>
    </message>
    <message>
        <source>{0}: the model cannot be used.</source>
        <translation>{0}: il modello non può essere usato.</translation>
    </message>
    <message>
        <source>{0}: the engine is at work on another page.</source>
        <translation>{0}: il motore sta lavorando a un&apos;altra pagina.</translation>
    </message>
    <message>
        <source>{0}: the engine&apos;s numbers went wrong; read it again.</source>
        <translation>{0}: i conti del motore sono andati storti; leggi di nuovo.</translation>
    </message>
    <message>
        <source>The engine is missing here; install Leggio anew.</source>
        <translation>Qui manca il motore; installa di nuovo Leggio.</translation>
    </message>
    <message>
        <source>{0}: the engine failed.</source>
        <translation>{0}: il motore non ce l&apos;ha fatta.</translation>
    </message>
    <message>
        <source>{0} is already there; choose another name.</source>
        <translation>{0} c&apos;è già; scegli un altro nome.</translation>
    </message>
    <message>
        <source>{0} cannot be written. The text is kept; choose another place.</source>
        <translation>{0} non può essere scritto. Il testo è al sicuro; scegli un altro posto.</translation>
    </message>
    <message>
        <source>{0} was cancelled.</source>
        <translation>{0}: annullato.</translation>
    </message>
    <message>
        <source>The built-in model</source>
        <translation>Il modello incluso</translation>
    </message>
    <message>
        <source>And {0} more; point here to read them.</source>
        <translation>E altre {0}; punta qui per leggerle.</translation>
    </message>
    <message>
        <source>The model alone takes {0} of memory, the budget is {1}: raise it in Settings.</source>
        <translation>Il solo modello richiede {0} di memoria, il limite è {1}: alzalo nelle Impostazioni.</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>Text of the page</source>
        <translation>Testo della pagina</translation>
    </message>
    <message>
        <source>The text of the page appears here.</source>
        <translation>Qui appare il testo della pagina.</translation>
    </message>
    <message>
        <source>The model was only {0} sure of this word</source>
        <translation>Il modello era sicuro di questa parola solo al {0}</translation>
    </message>
</context>
<context>
    <name>WaysOut</name>
    <message>
        <source>Enter password…</source>
        <translation>Inserisci la password…</translation>
    </message>
    <message>
        <source>Read again</source>
        <translation>Leggi di nuovo</translation>
    </message>
    <message>
        <source>Other settings…</source>
        <translation>Altre impostazioni…</translation>
    </message>
    <message>
        <source>Smaller views</source>
        <translation>Viste più piccole</translation>
    </message>
    <message>
        <source>Use {0}</source>
        <translation>Usa {0}</translation>
    </message>
    <message>
        <source>Memory budget…</source>
        <translation>Memoria disponibile…</translation>
    </message>
    <message>
        <source>{0} pages at a time</source>
        <translation>{0} pagine alla volta</translation>
    </message>
    <message>
        <source>One page at a time</source>
        <translation>Una pagina alla volta</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Drop a scan, a picture or a PDF here</source>
        <translation>Trascina qui una scansione, un&apos;immagine o un PDF</translation>
    </message>
    <message>
        <source>It is read on this machine and goes nowhere else.</source>
        <translation>Si legge su questo computer e non va da nessun&apos;altra parte.</translation>
    </message>
    <message>
        <source>Open…</source>
        <translation>Apri…</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Incolla</translation>
    </message>
    <message>
        <source>Try a sample page</source>
        <translation>Prova una pagina di esempio</translation>
    </message>
</context>
</TS>
