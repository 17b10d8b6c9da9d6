/* What the Metal device uses of Apple's Foundation, written from the names alone: enough for a compiler to check every
 * call where Apple's own headers are not at hand. Names, selectors and numbers are compared with facts.json. */
#ifndef UOCR_TESTS_FOUNDATION_H
#define UOCR_TESTS_FOUNDATION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool BOOL; /* as on arm64 */
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#define nil NULL
typedef long NSInteger;
typedef unsigned long NSUInteger;
typedef double CFTimeInterval;
typedef struct NSRange { NSUInteger location, length; } NSRange;
static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length) { return (NSRange){location, length}; }

@protocol NSObject
@end
__attribute__((objc_root_class)) @interface NSObject <NSObject>
+ (instancetype)alloc;
+ (instancetype)new;
@end

@interface NSString : NSObject
@property(readonly) const char *UTF8String;
+ (instancetype)stringWithUTF8String:(const char *)text;
@end

@interface NSURL : NSObject
+ (NSURL *)fileURLWithPath:(NSString *)path;
@end

@interface NSError : NSObject
@property(readonly) NSInteger code;
@property(readonly) NSString *localizedDescription;
@end

@interface NSArray<T> : NSObject
@property(readonly) NSUInteger count;
+ (instancetype)arrayWithObject:(T)object;
- (T)objectAtIndex:(NSUInteger)index;
- (BOOL)containsObject:(T)object;
@end

typedef enum NSActivityOptions : uint64_t { NSActivityUserInitiated = 0x00FFFFFF | (1ull << 20) } NSActivityOptions;

@interface NSProcessInfo : NSObject
@property(readonly) NSString *operatingSystemVersionString;
+ (NSProcessInfo *)processInfo;
- (id<NSObject>)beginActivityWithOptions:(NSActivityOptions)options reason:(NSString *)reason;
- (void)endActivity:(id<NSObject>)activity;
@end

#endif
