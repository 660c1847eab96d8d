export * from './inference-engine.ts'
export * from './loaded-model.ts'
export * from './secrets-resolver.ts'
export type { ConformanceCase, ConformanceSuite } from './suite.ts'
