export type * from './components.ts'
export type * from './expressions.ts'
export type * from './pages.ts'
export type * from './types.ts'
