// Public entry of this folder for tests. Source files import the modules directly.
export { webIr } from './build-web-ir.ts'
export { validateWebIr } from './validate.ts'
export type { WebIr } from './web-ir.ts'
