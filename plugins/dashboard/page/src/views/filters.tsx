import type { Filter } from '@svc/contracts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { valueAt } from '../bindings.ts'
import { stateText } from '../format.ts'
import { Empty } from '../parts.tsx'
import { query, setQuery } from '../router.ts'

/** Returns the values of filters: from the URL, else their defaults. */
export function filterValues(filters: readonly Filter[] | undefined): URLSearchParams {
  const values = new URLSearchParams(query.value)
  for (const { name, default: initial } of filters ?? [])
    if (!values.has(name) && initial !== undefined) values.set(name, initial)
  return values
}

/** Returns the rows that match the filters that name a field. */
export function filteredRows(
  rows: readonly unknown[],
  filters: readonly Filter[] | undefined,
  values: URLSearchParams
): readonly unknown[] {
  const active = (filters ?? []).flatMap(({ name, field, choices }) => {
    const value = values.get(name) ?? ''
    return field === undefined || value === ''
      ? []
      : [{ field, value, lower: value.toLowerCase(), exact: choices !== undefined }]
  })
  if (active.length === 0) return rows
  return rows.filter(row =>
    active.every(({ field, value, lower, exact }) => {
      const text = String(valueAt(row, field) ?? '')
      return exact ? text === value : text.toLowerCase().includes(lower)
    })
  )
}

/** Returns whether the reader or a default restricts the rows. */
export function isFiltered(filters: readonly Filter[] | undefined, values: URLSearchParams): boolean {
  return (filters ?? []).some(({ name }) => (values.get(name) ?? '') !== '')
}

/** Returns whether the reader restricts the rows, not only a default. */
export function isChosen(filters: readonly Filter[] | undefined, values: URLSearchParams): boolean {
  return (filters ?? []).some(({ name, default: initial = '' }) => {
    const value = values.get(name) ?? ''
    return value !== '' && value !== initial
  })
}

/** Returns whether a filter is only an input of the operation, so that there may be no rows before the reader sets it. */
export function isAsked(filters: readonly Filter[] | undefined): boolean {
  return (filters ?? []).some(({ field }) => field === undefined)
}

/** Text instead of the rows, if the filters exclude all of them. */
export function NoMatch({ what = 'row' }: { readonly what?: string }) {
  return <Empty>{`No ${what} matches the filters.`}</Empty>
}

/** Controls for the filters of a view. */
export function FilterBar({ filters }: { readonly filters: readonly Filter[] | undefined }) {
  if (filters === undefined || filters.length === 0) return null
  const values = filterValues(filters)
  return (
    <search class="row filters">
      {filters.map(({ name, label, choices, field, default: initial }) => {
        const value = values.get(name) ?? ''
        const set = (next: string): void => {
          // An empty value of a filter with a default stays in the address, else the default would return.
          setQuery({ [name]: next }, initial === undefined ? [] : [name])
        }
        if (choices === undefined)
          return <TextFilter key={name} label={label} value={value} isCall={field === undefined} onSet={set} />
        return (
          <select
            key={name}
            aria-label={label}
            value={value}
            onChange={({ currentTarget }) => set(currentTarget.value)}
          >
            <option value="">{label}: all</option>
            {choices.map(choice => (
              <option key={choice} value={choice}>
                {`${label}: ${stateText(choice)}`}
              </option>
            ))}
          </select>
        )
      })}
    </search>
  )
}

interface TextFilterProps {
  readonly label: string
  readonly value: string
  /** Whether each value calls the operation: then a value is set when it is complete, not with each letter. */
  readonly isCall: boolean
  readonly onSet: (value: string) => void
}

function TextFilter({ label, value, isCall, onSet }: TextFilterProps) {
  const [typed, setTyped] = useState(value)
  /** Values of this field that have not come back from the address: the reader may have typed on since. */
  const sent = useRef<string[]>([])
  const known = useRef(value)
  useEffect(() => {
    // The first effect may run after the first letter.
    if (value === known.current) return
    known.current = value
    const at = sent.current.indexOf(value)
    if (at === -1) setTyped(value)
    else sent.current.splice(0, at + 1)
  }, [value])
  const send = (next: string): void => {
    if (next !== (sent.current.at(-1) ?? value)) sent.current.push(next)
    onSet(next)
  }
  return (
    <input
      type="search"
      data-filter=""
      aria-label={label}
      placeholder={label}
      value={typed}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value)
        // The button of the field that empties it causes no other event.
        if (!isCall || currentTarget.value === '') send(currentTarget.value)
      }}
      onChange={({ currentTarget }) => send(currentTarget.value)}
      onBlur={() => {
        sent.current = []
      }}
    />
  )
}
