export * from './inference/engine.ts'
