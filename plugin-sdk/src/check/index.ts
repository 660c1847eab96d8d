export type { SchemaError, Validate } from './ajv.ts'
export * from './schema-check.ts'
export * from './validator.ts'
