/**
 * Browser part of a module in the IR document. Spans are always null; `spans` of `WebIrDocument` has the source spans.
 */
export interface WebIr {
  /** Nodes of all views. Children precede their parents. */
  readonly dom_nodes: readonly DomNode[]
  /** Names of components, each with the index of its root node. */
  readonly view_roots: readonly (readonly [component: string, node: number])[]
  readonly behavior_nodes: readonly BehaviorNode[]
  readonly style_nodes: readonly StyleNode[]
  readonly route_nodes: readonly RouteNode[]
  readonly scheduled_jobs: readonly ScheduledJob[]
  readonly interop_nodes: readonly InteropNode[]
  readonly diagnostic_nodes: readonly WebIrDiagnostic[]
  readonly spans: { readonly spans: readonly { file_id: number; start: number; end: number }[] }
  readonly version: 'V0_1'
}

/** A name with TypeScript code. */
export type NamedText = readonly [name: string, text: string]

export type DomNode =
  | {
      readonly Element: {
        readonly id: number
        readonly tag: string
        readonly attrs: readonly NamedText[]
        readonly children: readonly number[]
        readonly span: null
      }
    }
  | { readonly Text: { readonly content: string; readonly span: null } }
  | { readonly Fragment: { readonly children: readonly number[]; readonly span: null } }
  | {
      readonly IslandMount: {
        readonly island_name: string
        readonly props: readonly NamedText[]
        readonly ignored_child_count: number
        readonly span: null
      }
    }
  | { readonly Expr: { readonly ts: string; readonly span: null } }

export type BehaviorNode =
  | {
      readonly StateDecl: {
        readonly name: string
        readonly initial: string
        readonly optionality: 'Required' | 'Optional' | 'Defaulted'
        readonly span: null
      }
    }
  | { readonly DerivedDecl: { readonly name: string; readonly expr: string; readonly span: null } }
  | { readonly EffectDecl: { readonly deps: readonly string[]; readonly body: string; readonly span: null } }
  | { readonly Action: { readonly name: string; readonly payload_expr: string; readonly span: null } }

export interface StyleNode {
  readonly Rule: {
    readonly selector: { readonly Class: string }
    readonly declarations: readonly (readonly [property: string, value: StyleValue])[]
    readonly specificity: readonly [ids: number, classes: number, elements: number]
    readonly span: null
  }
}

export type LengthUnit = 'Px' | 'Rem' | 'Em' | 'Percent' | 'Vw' | 'Vh'

export type StyleValue =
  | { readonly Raw: string }
  | { readonly TokenRef: string }
  | { readonly Color: { readonly Hex: string } | { readonly Named: string } | { readonly Var: string } }
  | { readonly Length: readonly [number: number, unit: LengthUnit] }
  | { readonly Keyword: string }
  | { readonly Number: number }

export interface RouteTreeEntry {
  readonly id: string
  readonly pattern: string
  readonly meta: { readonly component: string; readonly loader?: string; readonly pending?: string }
  readonly children?: readonly RouteTreeEntry[]
}

export type RouteNode =
  | { readonly RouteTree: { readonly routes: readonly RouteTreeEntry[]; readonly span: null } }
  | { readonly LoaderContract: { readonly route_id: string; readonly contract: string; readonly span: null } }
  | {
      readonly ServerFnContract: {
        readonly name: string
        readonly export_path: string
        readonly signature: string
        readonly span: null
      }
    }
  | { readonly MutationContract: { readonly name: string; readonly payload_type: string; readonly span: null } }

export interface ScheduledJob {
  readonly name: string
  /** The interval as written: `1h`. */
  readonly interval: string
}

export type InteropNode =
  | {
      readonly ReactComponentRef: {
        readonly component: string
        readonly import_source: string
        readonly props: readonly NamedText[]
        readonly span: null
      }
    }
  | {
      readonly ExternalModuleRef: { readonly specifier: string; readonly named: readonly string[]; readonly span: null }
    }
  | { readonly EscapeHatchExpr: { readonly expr: string; readonly reason: string; readonly span: null } }

export interface WebIrDiagnostic {
  readonly code: string
  readonly message: string
  readonly span: null
  readonly category?: string
}
