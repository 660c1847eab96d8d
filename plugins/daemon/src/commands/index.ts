// The face of this folder for tests. Sources import the files.
export { complaintsOf } from './complaints.ts'
