/** Roles of a console session, from least to most rights. */
export type DashboardRole = 'viewer' | 'operator' | 'owner'

/** Value of an input field: a constant, a parameter of the page's path, a field of the row, or a filter of the page. */
export type Binding =
  | { readonly value: unknown }
  | {
      readonly from: 'route' | 'row' | 'filter'
      /** Parameter, dotted path in the row, or filter. */
      readonly name: string
    }

/** Input of an operation by field. A binding without a value leaves its field out. Nothing is evaluated. */
export type Bindings = Readonly<Record<string, Binding>>

/** Link to a page of the console. */
export interface Link {
  /** Path of the page as its plugin contributes it, such as `orchestrator-tools/tasks/:id`. */
  readonly page: string
  /** Values of the path's parameters; further values become filters of the page. */
  readonly params?: Bindings
}

/**
 * How a value is drawn. Default: from the output schema (`format`, `x-unit`, enums as badges), else as text.
 *
 * `time`: Unix milliseconds or an ISO 8601 text. `ms`: milliseconds as a duration. `state`: a badge with a colour by the
 * meaning of the word. `markdown`: only in a record or a text; links and images of it are never loaded.
 */
export type ValueFormat =
  | 'text'
  | 'code'
  | 'json'
  | 'markdown'
  | 'time'
  | 'ms'
  | 'bytes'
  | 'number'
  | 'percent'
  | 'tokens'
  | 'state'
  | 'boolean'

export interface Column {
  /** Dotted path in the row or output. */
  readonly field: string
  /** Default: the last part of `field`. */
  readonly title?: string
  readonly format?: ValueFormat
  /** Makes the value a link. */
  readonly link?: Link
}

/** Control above a view. Its value is in the query of the URL, and can be bound as `{ from: 'filter', name }`. */
export interface Filter {
  readonly name: string
  readonly label: string
  /** Choices of a menu; absent: a text field. */
  readonly choices?: readonly string[]
  /**
   * Row field that must equal the value (menu) or contain it (text). Absent: the filter is only bound to inputs; a text then
   * counts when it is complete: after Enter, or when the field loses the focus.
   */
  readonly field?: string
  readonly default?: string
}

interface Sourced {
  /** Operation that supplies the data. One with `watch` updates the view while it is open. */
  readonly operation: string
  readonly input?: Bindings
  /** Text that is shown instead of no data: what would appear here, and how it gets there. */
  readonly empty?: string
}

export interface TableView extends Sourced {
  readonly kind: 'table'
  /** Dotted path of the array in the output. Absent: the whole output. Not for delta operations. */
  readonly rows?: string
  /** Dotted path of a value that identifies a row. */
  readonly key: string
  /** Default: the columns of the operation's command-line view, else all fields of the row schema. */
  readonly columns?: readonly Column[]
  readonly filters?: readonly Filter[]
  /** Kind of row, such as `task`: actions with the same `on` are offered. */
  readonly of?: string
  /** Page that opens when a row is activated. */
  readonly open?: Link
  /** Field that the rows are sorted by at first; a leading `-` sorts descending. */
  readonly sort?: string
}

export interface RecordView extends Sourced {
  readonly kind: 'record'
  /** Dotted path of the object in the output. Absent: the whole output. */
  readonly field?: string
  /** Dotted path of the record's name, which the title of the page then shows instead of the path's parameter. */
  readonly name?: string
  readonly columns?: readonly Column[]
  /** Kind of record: actions with the same `on` are offered. */
  readonly of?: string
}

export interface TextView extends Sourced {
  readonly kind: 'text'
  /** Dotted path of the text in the output. */
  readonly field: string
  readonly format?: 'text' | 'markdown' | 'code' | 'json'
}

/** Log lines, newest last; follows the end while the reader is there. */
export interface LogView extends Sourced {
  readonly kind: 'log'
  readonly rows?: string
  /** Dotted path of a value that identifies a line of a delta operation. Default: `key`. */
  readonly key?: string
  readonly time: string
  readonly level?: string
  readonly message: string
  /** Further fields of a line. */
  readonly columns?: readonly Column[]
  readonly filters?: readonly Filter[]
}

/** Form generated from the operation's input schema. Shows the output, or opens the page `next`. */
export interface FormView extends Sourced {
  readonly kind: 'form'
  readonly submit?: string
  readonly next?: Link
}

export interface Series {
  readonly field: string
  readonly label: string
  readonly format?: ValueFormat
}

export interface ChartView extends Sourced {
  readonly kind: 'chart'
  readonly rows?: string
  /** Field with Unix milliseconds. */
  readonly x: string
  readonly series: readonly Series[]
  readonly filters?: readonly Filter[]
}

/** Directed graph, drawn from top to bottom. */
export interface GraphView extends Sourced {
  readonly kind: 'graph'
  /** Dotted path of the array of nodes. Fields: `id`, `label`, `state`, unless renamed. */
  readonly nodes: string
  /** Dotted path of the array of edges. Fields: `from`, `to`, `label`, unless renamed. */
  readonly edges: string
  readonly fields?: Readonly<Partial<Record<'id' | 'label' | 'state' | 'from' | 'to' | 'edgeLabel', string>>>
  readonly open?: Link
}

/** Bars on a time axis, one lane per value of `lane`. */
export interface TimelineView extends Sourced {
  readonly kind: 'timeline'
  readonly rows?: string
  readonly lane: string
  /** Fields with Unix milliseconds or ISO 8601 texts. A bar without an end runs until now. */
  readonly start: string
  readonly end: string
  readonly state?: string
  readonly label?: string
  /** Dotted path of the depth of a lane, which is then indented. */
  readonly depth?: string
  readonly columns?: readonly Column[]
}

export interface GroupView {
  readonly kind: 'stack' | 'tabs'
  readonly items: readonly { readonly title?: string; readonly view: View }[]
}

/** Declarative view: data, so that isolated plugins can contribute it too. */
export type View =
  | TableView
  | RecordView
  | TextView
  | LogView
  | FormView
  | ChartView
  | GraphView
  | TimelineView
  | GroupView

/**
 * Page that is drawn by code of the plugin. `entry`: a file of `svc.pages` in the plugin's package.json, which exports
 * {@link ConsoleModule}'s `mount`. If the plugin is isolated, it runs in a sandboxed frame.
 */
export interface ModuleView {
  readonly kind: 'module'
  readonly entry: string
  /** Operations that the module may call and watch. */
  readonly uses: readonly string[]
}
