import type { Body } from './hir/expressions.ts'
import type { HirBlock, HirExpression, HirType } from './hir-expressions.ts'

/**
 * A module with resolved names and parsed decorators, in exactly the form of the IR document. A struct is an object, an
 * enum variant is `{"Variant": payload}`, and spans are byte offsets into the UTF-8 source. Optional keys are
 * extensions that consumers of the original fifteen arrays ignore.
 */
export interface HirModule {
  readonly imports: readonly HirImport[]
  readonly rust_imports: readonly HirRustImport[]
  readonly functions: readonly HirFunction[]
  readonly types: readonly HirTypeDeclaration[]
  readonly routes: readonly HirRoute[]
  readonly actors: readonly HirActor[]
  readonly workflows: readonly HirProcess[]
  readonly activities: readonly HirActivity[]
  readonly server_fns: readonly HirEndpoint[]
  readonly query_fns: readonly HirEndpoint[]
  readonly mutation_fns: readonly HirEndpoint[]
  readonly tables: readonly HirTable[]
  readonly mcp_tools: readonly HirTool[]
  readonly mcp_resources: readonly HirResource[]
  readonly agents: readonly HirAgent[]
}

/** Byte range in the UTF-8 source, `end` excluded. */
export interface HirSpan {
  readonly start: number
  readonly end: number
}

/** Number of a definition, unique in its module. */
export type DefId = number

export interface HirImport {
  readonly module_path: readonly string[]
  /** Name in the module. */
  readonly item: string
  readonly span: HirSpan
}

export interface HirRustImport {
  readonly crate_name: string
  readonly alias: string
  readonly version: string | null
  readonly path: string | null
  readonly git: string | null
  readonly rev: string | null
  readonly branch?: string
  readonly span: HirSpan
}

export interface HirFunction {
  readonly id: DefId
  readonly name: string
  readonly generics: readonly string[]
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly body: HirBlock
  readonly code: Body
  readonly is_component: boolean
  readonly is_async: boolean
  readonly is_pub: boolean
  readonly is_mobile_native: boolean
  readonly is_pure: boolean
  readonly is_llm: boolean
  readonly llm_model?: string
  readonly is_deprecated: boolean
  /** As in the source: `1h`. */
  readonly schedule_interval?: string
  readonly postconditions: readonly HirPostcondition[]
  readonly span: HirSpan
}

export interface HirPostcondition {
  readonly condition: HirExpression
  readonly fallback: string | null
}

export interface HirParam {
  readonly id: DefId
  readonly name: string
  readonly type_ann: HirType | null
  readonly default: HirExpression | null
  readonly span: HirSpan
}

export type HirNamedField = readonly [name: string, type: HirType]

export interface HirTypeDeclaration {
  readonly id: DefId
  readonly name: string
  /** Empty for structs and aliases. */
  readonly variants: readonly HirVariant[]
  /** Fields of a struct. */
  readonly fields?: readonly HirNamedField[]
  readonly alias?: HirType
  readonly generics?: readonly string[]
  readonly is_pub: boolean
  /** True for a record that every program has, such as `Page`. */
  readonly is_builtin?: true
  readonly span: HirSpan
}

export interface HirVariant {
  readonly name: string
  readonly fields: readonly HirNamedField[]
  readonly span: HirSpan
}

export interface HirRoute {
  readonly method: 'Get' | 'Post' | 'Put' | 'Delete'
  readonly path: string
  /** Method and path: `GET /tasks`. */
  readonly route_contract: string
  readonly params?: readonly HirParam[]
  readonly return_type: HirType | null
  readonly body: HirBlock
  readonly code: Body
  readonly span: HirSpan
}

export interface HirHandler {
  readonly event_name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly body: HirBlock
  readonly code: Body
  readonly span: HirSpan
}

export interface HirStateField {
  readonly name: string
  readonly type_ann: HirType | null
  readonly default?: HirExpression
  readonly span: HirSpan
}

export interface HirActor {
  readonly id: DefId
  readonly name: string
  readonly params?: readonly HirParam[]
  readonly state_fields?: readonly HirStateField[]
  readonly handlers: readonly HirHandler[]
  /** Parameters of `spawn`, and an assignment for each field with an initial value. */
  readonly code: Body
  readonly span: HirSpan
}

/** A workflow. */
export interface HirProcess {
  readonly id: DefId
  readonly name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly body: HirBlock
  readonly code: Body
  readonly span: HirSpan
}

export interface HirActivity extends HirProcess {
  /** Options after `with`. */
  readonly options?: HirExpression
  /** Options after `with`: one expression, which may read the parameters. */
  readonly optionsCode?: Body
}

export interface HirEndpoint {
  readonly id: DefId
  readonly name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly body: HirBlock
  readonly code: Body
  readonly route_path: string
  readonly span: HirSpan
}

export interface HirTable {
  readonly id: DefId
  readonly name: string
  /** Columns without `_id`, which every table has. */
  readonly fields: readonly HirColumn[]
  readonly is_pub: boolean
  readonly is_deprecated: boolean
  readonly span: HirSpan
}

export interface HirColumn {
  readonly name: string
  readonly type_ann: HirType
  readonly default?: HirExpression
  /** The default: one expression. */
  readonly code?: Body
  readonly span: HirSpan
}

export interface HirTool {
  readonly description: string
  readonly func: HirFunction
}

export interface HirResource {
  readonly uri: string
  readonly description: string
  readonly func: HirFunction
}

export interface HirAgent {
  readonly id: DefId
  readonly name: string
  readonly version: string | null
  readonly state_fields: readonly HirStateField[]
  readonly handlers: readonly (Omit<HirHandler, 'span'> & { readonly is_traced: boolean; readonly span: HirSpan })[]
  readonly migrations: readonly HirMigration[]
  /** As of an actor. */
  readonly code: Body
  /** Properties such as `instructions` and `tools`. */
  readonly properties?: readonly { readonly name: string; readonly value: HirExpression; readonly code: Body }[]
  readonly is_deprecated: boolean
  readonly span: HirSpan
}

export interface HirMigration {
  readonly from_version: string
  readonly body: HirBlock
  readonly code: Body
  readonly span: HirSpan
}

export type * from './hir-expressions.ts'
