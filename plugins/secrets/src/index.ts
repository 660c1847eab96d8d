// Exports of this folder for tests. Sources import the files directly.
export { AuthFile } from './auth-file.ts'
export { CachedCheck } from './console/cached-check.ts'
export { envLine, parseEnv } from './env-file.ts'
export { readSecret } from './input.ts'
export { redact, scrub } from './redact.ts'
export { resolveSecret, type Sources } from './resolve.ts'
