// Exports of this folder for tests. Sources import the files directly.
export { runChat } from './command.ts'
