// Public entry of this folder for tests. Source files import the modules directly.
export { irDocument, printIr } from './document.ts'
