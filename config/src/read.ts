// The entry `@svc/config/sources`: reads files without loading a validator.
export * from './layers.ts'
export { type ConfigSources, readSources } from './sources.ts'
export { keyText } from './toml.ts'
