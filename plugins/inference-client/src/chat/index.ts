// The face of this folder for tests. Sources import the files.
export { runChat } from './command.ts'
