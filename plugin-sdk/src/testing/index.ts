export * from './kernel.ts'
export * from './leaks.ts'
