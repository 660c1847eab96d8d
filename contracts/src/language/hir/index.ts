export type * from './expressions.ts'
export type * from './types.ts'
