import type { AjvModule } from './ajv.ts'

declare const vendor: AjvModule
export = vendor
