// The face of this folder for tests. Sources import the files.
export { format } from './format.ts'
