export * from './builtin-types.ts'
export * from './exhaustive.ts'
export * from './type.ts'
