// The same entry with ajv inside, for files that are bundled whole, such as workers of plugins.
import ajv from '#ajv'
import { carryAjv } from './ajv.ts'

carryAjv(ajv)

export * from './index.ts'
