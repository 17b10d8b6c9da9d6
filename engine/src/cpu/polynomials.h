/* Polynomials shared by every instruction set, fitted (weighted least squares driven to the minimax error,
 * rounded to f32) for exp and erf. Errors of the polynomials alone, before f32 arithmetic, stand beside them.
 */
#ifndef UOCR_SRC_CPU_POLYNOMIALS_H
#define UOCR_SRC_CPU_POLYNOMIALS_H

/* exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two steps, |r| <= ln 2 / 2.
 * exp(r) = 1 + r + r^2 (E0 + E1 r + ... + E4 r^4), relative error 3.3e-9. */
#define CPU_LOG2E 1.44269504f
#define CPU_LN2_HIGH 0.693359375f /* 9 bits: n * high is exact */
#define CPU_LN2_LOW -2.12194440e-4f
#define CPU_EXP_MIN -87.0f /* below: 0, so that 2^n stays normal */
#define CPU_EXP_MAX 88.0f
#define CPU_E0 0.49999994f
#define CPU_E1 0.166665152f
#define CPU_E2 0.0416684560f
#define CPU_E3 0.00836941879f
#define CPU_E4 0.00138131448f

/* erf(z) = z (S0 + S1 u + ... + S6 u^6), u = z^2, |z| < 1: relative error 1.2e-9. */
#define CPU_S0 1.12837911f
#define CPU_S1 -0.376126260f
#define CPU_S2 0.112835854f
#define CPU_S3 -0.0268538129f
#define CPU_S4 0.00518832775f
#define CPU_S5 -0.000801019371f
#define CPU_S6 7.85386073e-5f

/* erf(z) = 1 - exp(-(L0 + L1 z + ... + L6 z^6)), 1 <= z < 4: absolute error 1.1e-9; 1 from 4 on. */
#define CPU_L0 0.000353718759f
#define CPU_L1 1.12704003f
#define CPU_L2 0.638225675f
#define CPU_L3 0.103037372f
#define CPU_L4 -0.0218053199f
#define CPU_L5 0.00293960795f
#define CPU_L6 -0.000185574070f

#define CPU_SQRT_HALF 0.707106781f
#define CPU_QUICK_GELU 1.702f

#endif
