// Exports of this folder for tests. Sources import the files directly.
export { PageReader } from './page-reader.ts'
export { authorityFactor, canonicalUrl, webHits } from './web-hits.ts'
