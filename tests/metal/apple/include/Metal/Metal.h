/* What the Metal device uses of Apple's Metal; see Foundation.h. */
#ifndef UOCR_TESTS_METAL_H
#define UOCR_TESTS_METAL_H

#import <Foundation/Foundation.h>

typedef enum MTLGPUFamily : NSInteger { MTLGPUFamilyApple7 = 1007, MTLGPUFamilyMetal3 = 5001 } MTLGPUFamily;
typedef enum MTLLanguageVersion : NSUInteger { MTLLanguageVersion3_0 = 196608 } MTLLanguageVersion;
typedef enum MTLDataType : NSUInteger { MTLDataTypeUInt = 33 } MTLDataType;
typedef enum MTLPipelineOption : NSUInteger {
    MTLPipelineOptionNone = 0,
    MTLPipelineOptionFailOnBinaryArchiveMiss = 4
} MTLPipelineOption;
typedef enum MTLResourceOptions : NSUInteger {
    MTLResourceStorageModeShared = 0,
    MTLResourceStorageModePrivate = 32,
    MTLResourceHazardTrackingModeUntracked = 256
} MTLResourceOptions;
typedef enum MTLCommandBufferStatus : NSUInteger { MTLCommandBufferStatusCompleted = 4 } MTLCommandBufferStatus;
typedef enum MTLCommandBufferError : NSUInteger {
    MTLCommandBufferErrorTimeout = 2,
    MTLCommandBufferErrorAccessRevoked = 4,
    MTLCommandBufferErrorNotPermitted = 7,
    MTLCommandBufferErrorOutOfMemory = 8,
    MTLCommandBufferErrorDeviceRemoved = 11
} MTLCommandBufferError;

typedef struct MTLSize { NSUInteger width, height, depth; } MTLSize;
static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
    return (MTLSize){width, height, depth};
}

@protocol MTLDevice;

@protocol MTLBuffer <NSObject>
- (void *)contents;
@end

@protocol MTLFunction <NSObject>
@end

@interface MTLFunctionConstantValues : NSObject
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
@end

@interface MTLCompileOptions : NSObject
@property MTLLanguageVersion languageVersion;
@property BOOL fastMathEnabled;
@end

@protocol MTLLibrary <NSObject>
@property(readonly) NSArray<NSString *> *functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name
                        constantValues:(MTLFunctionConstantValues *)values
                                 error:(NSError **)error;
@end

@interface MTLComputePipelineDescriptor : NSObject
@property id<MTLFunction> computeFunction;
@property BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property NSUInteger maxTotalThreadsPerThreadgroup;
@property(copy) NSArray *binaryArchives;
@end

@protocol MTLComputePipelineState <NSObject>
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end

@interface MTLComputePipelineReflection : NSObject
@end
typedef MTLComputePipelineReflection *MTLAutoreleasedComputePipelineReflection;

@interface MTLBinaryArchiveDescriptor : NSObject
@property(copy) NSURL *url;
@end

@protocol MTLBinaryArchive <NSObject>
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error;
- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error;
@end

@protocol MTLCommandEncoder <NSObject>
- (void)endEncoding;
@end

@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
@end

@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)target
     destinationOffset:(NSUInteger)targetOffset
                  size:(NSUInteger)size;
@end

@protocol MTLCommandBuffer <NSObject>
@property(readonly) CFTimeInterval GPUStartTime;
@property(readonly) CFTimeInterval GPUEndTime;
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError *error;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)commit;
- (void)waitUntilCompleted;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLCommandBuffer>)commandBuffer;
@end

@protocol MTLDevice <NSObject>
@property(readonly) NSString *name;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *bytes, NSUInteger length))deallocator;
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:(MTLAutoreleasedComputePipelineReflection *)reflection
                                                               error:(NSError **)error;
- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                 error:(NSError **)error;
@end

extern id<MTLDevice> MTLCreateSystemDefaultDevice(void) __attribute__((ns_returns_retained));
extern NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) __attribute__((ns_returns_retained));

#endif
