import type { ValueFormat } from '@svc/contracts'
import { agoText, stateText, textOf, timeOf, toneOf } from './format.ts'
import { lazy } from './lazy.tsx'
import { Badge } from './parts.tsx'

const Markdown = lazy(() => import('./markdown.tsx').then(module => module.Markdown))
const MAX_TEXT = 20_000

/** Returns whether a value has nothing to draw. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Draws a value. Texts are always text nodes. */
export function Value({ value, format }: { readonly value: unknown; readonly format: ValueFormat }) {
  if (isEmpty(value)) return <span class="dim">–</span>
  if (format === 'state' && typeof value === 'string') return <Badge tone={toneOf(value)}>{stateText(value)}</Badge>
  if (format === 'time') {
    const time = timeOf(value)
    if (time !== null)
      return (
        <time dateTime={new Date(time).toISOString()} title={`${new Date(time).toISOString()}, ${agoText(time)}`}>
          {textOf(value, format)}
        </time>
      )
  }
  if (format === 'markdown' && typeof value === 'string') return <Markdown text={shortened(value)} />
  const shown = shortened(textOf(value, format))
  if (format === 'code' || format === 'json') return format === 'json' ? <pre>{shown}</pre> : <code>{shown}</code>
  return <>{shown}</>
}

function shortened(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}
