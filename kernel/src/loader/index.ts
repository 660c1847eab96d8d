// Exports of this folder for tests. Sources import the files directly.
export { buildPlugin } from './build.ts'
export { Bundler } from './bundle.ts'
export { type CachedCode, digest, readCodeCache, writeCodeCache } from './code-cache.ts'
export { checkDefinition } from './definition.ts'
export { codeOf, compile, evaluate, preload, withPackages } from './evaluate.ts'
export { validateManifest } from './manifest.ts'
export { Watcher } from './watch.ts'
