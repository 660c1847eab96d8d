// Public entry of this folder for tests. Source files import the modules directly.
export { format } from './format.ts'
