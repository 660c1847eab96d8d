// Variant of the entry point that includes ajv, for self-contained bundles such as workers of plugins.
import ajv from '#ajv'
import { carryAjv } from './ajv.ts'

carryAjv(ajv)

export * from './index.ts'
