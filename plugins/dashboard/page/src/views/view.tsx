import type { View } from '@svc/contracts'
import type { ComponentChild } from 'preact'
import type { BindingScope } from '../bindings.ts'
import { lazy } from '../lazy.tsx'
import { GroupView } from './group.tsx'
import { LogView } from './log.tsx'
import { RecordView } from './record.tsx'
import { TableView } from './table.tsx'
import { TextView } from './text.tsx'
import { TimelineView } from './timeline.tsx'

const ChartView = lazy(() => import('./chart.tsx').then(module => module.ChartView))
const GraphView = lazy(() => import('./graph.tsx').then(module => module.GraphView))
const FormView = lazy(() => import('./form.tsx').then(module => module.FormView))

export interface ViewProps<V> {
  readonly view: V
  readonly scope: BindingScope
  /** Title for screen readers. */
  readonly label: string
}

/** Draws a declarative view. */
export function ViewOf({ view, scope, label }: ViewProps<View>): ComponentChild {
  switch (view.kind) {
    case 'table':
      return <TableView view={view} scope={scope} label={label} />
    case 'record':
      return <RecordView view={view} scope={scope} label={label} />
    case 'text':
      return <TextView view={view} scope={scope} label={label} />
    case 'log':
      return <LogView view={view} scope={scope} label={label} />
    case 'form':
      return <FormView view={view} scope={scope} label={label} />
    case 'chart':
      return <ChartView view={view} scope={scope} label={label} />
    case 'graph':
      return <GraphView view={view} scope={scope} label={label} />
    case 'timeline':
      return <TimelineView view={view} scope={scope} label={label} />
    default:
      return <GroupView view={view} scope={scope} label={label} viewOf={ViewOf} />
  }
}
