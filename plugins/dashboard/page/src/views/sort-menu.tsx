import { Icon } from '../parts.tsx'
import type { ShownColumn } from './columns.ts'

interface SortMenuProps {
  readonly columns: readonly ShownColumn[]
  /** Field; with a leading `-` in descending order; empty for the order of the data. */
  readonly sort: string
  readonly onSort: (sort: string) => void
}

/** Menu to sort a table on a narrow screen, where its rows are cards without a head. */
export function SortMenu({ columns, sort, onSort }: SortMenuProps) {
  const isDescending = sort.startsWith('-')
  const field = isDescending ? sort.slice(1) : sort
  return (
    <span class="row only-narrow sort-menu">
      <select
        aria-label="Sort by"
        value={field}
        onChange={({ currentTarget: { value } }) => onSort(value === '' || !isDescending ? value : `-${value}`)}
      >
        <option value="">Sort by: default</option>
        {columns.map(column => (
          <option key={column.field} value={column.field}>
            {`Sort by: ${column.title}`}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="compact"
        disabled={field === ''}
        aria-label={isDescending ? 'Sort in ascending order' : 'Sort in descending order'}
        onClick={() => onSort(isDescending ? field : `-${field}`)}
      >
        <Icon name={isDescending ? 'arrow-down' : 'arrow-up'} />
      </button>
    </span>
  )
}
