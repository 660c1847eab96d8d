import type { Body } from './hir/expressions.ts'

/** The declarations of a program, with their code as typed nodes. Decorators are parsed. */
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
  readonly name: string
  readonly generics: readonly string[]
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
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
  readonly span: HirSpan
}

export interface HirParam {
  readonly name: string
  readonly type_ann: HirType | null
  /** True if an argument may be omitted. */
  readonly hasDefault: boolean
  readonly span: HirSpan
}

export type HirNamedField = readonly [name: string, type: HirType]

export interface HirTypeDeclaration {
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
  readonly code: Body
  readonly span: HirSpan
}

export interface HirHandler {
  readonly event_name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly code: Body
  readonly span: HirSpan
}

export interface HirStateField {
  readonly name: string
  readonly type_ann: HirType | null
  readonly span: HirSpan
}

export interface HirActor {
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
  readonly name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly code: Body
  readonly span: HirSpan
}

export interface HirActivity extends HirProcess {
  /** Options after `with`: one expression, which may read the parameters. */
  readonly optionsCode?: Body
}

export interface HirEndpoint {
  readonly name: string
  readonly params: readonly HirParam[]
  readonly return_type: HirType | null
  readonly code: Body
  readonly route_path: string
  readonly span: HirSpan
}

export interface HirTable {
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
  readonly name: string
  readonly version: string | null
  readonly state_fields: readonly HirStateField[]
  readonly handlers: readonly HirHandler[]
  readonly migrations: readonly HirMigration[]
  /** As of an actor. */
  readonly code: Body
  /** Properties such as `instructions` and `tools`. */
  readonly properties?: readonly { readonly name: string; readonly code: Body }[]
  readonly is_deprecated: boolean
  readonly span: HirSpan
}

export interface HirMigration {
  readonly from_version: string
  readonly code: Body
  readonly span: HirSpan
}

/** A type as written, or as inferred for a result. */
export type HirType =
  | { readonly Named: string }
  | { readonly Generic: readonly [name: string, args: readonly HirType[]] }
  | { readonly Function: readonly [params: readonly HirType[], result: HirType] }
  | { readonly Tuple: readonly HirType[] }
  | 'Unit'
  | 'Decimal'
