// The entry `@svc/config/sources`: reads files without loading a validator.
export * from './layers.ts'
export {
  type ConfigSources,
  type Dialect,
  emptiedFiles,
  readSources,
  type SourceOptions,
  svcDialect
} from './sources.ts'
export { keyText, parseToml } from './toml.ts'
