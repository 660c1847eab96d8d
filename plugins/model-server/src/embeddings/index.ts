// Exports of this folder for tests. Sources import the files directly.
export { type EmbedderLimits, ServedEmbedder } from './served.ts'
