import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallError } from './api.ts'
import { type Tone, toneOf } from './format.ts'
import { ICONS, type IconShape } from './icons.ts'
import { showToast } from './state.ts'

export function Icon({ name }: { readonly name: IconShape }) {
  const shapes = ICONS[name]
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {shapes.map(([tag, attributes], index) => {
        const Tag = tag as 'path'
        return <Tag key={index} {...attributes} />
      })}
    </svg>
  )
}

export function Badge({ children, tone }: { readonly children: string; readonly tone?: Tone }) {
  return <span class={`badge ${tone ?? toneOf(children)}`}>{children}</span>
}

/** Error with its code, its next step and the id of the request. */
export function ErrorNotice({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const { code, hint, requestId } = error instanceof CallError ? error : ({} as Partial<CallError>)
  return (
    <div class="notice bad" role="alert">
      <Icon name="circle-alert" />
      <div class="grow">
        <div>{error.message}</div>
        {hint === undefined ? null : <div class="small">{hint}</div>}
        <div class="small dim">
          {code}
          {requestId === undefined ? null : (
            <>
              {' · request '}
              <a href={`/ui/p/observability/requests/${encodeURIComponent(requestId)}`}>{requestId}</a>
            </>
          )}
        </div>
      </div>
      {retry === undefined ? null : (
        <button type="button" class="compact" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

export function Loading({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="stack" role="status">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <div class="skeleton" key={index} />
      ))}
    </div>
  )
}

/** Reports an error in the corner of the page. */
export function reportError(error: unknown): void {
  if (error instanceof CallError) showToast('bad', error.message, error.hint)
  else showToast('bad', error instanceof Error ? error.message : String(error))
}

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly class?: string
}

/** Modal dialog. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, children, class: name = '' }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current as HTMLDialogElement
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, by onCancel
    <dialog
      ref={element}
      class={name}
      aria-label={title}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onClick={event => {
        if (event.target === element.current) onClose()
      }}
    >
      {children}
    </dialog>
  )
}

/** Button that copies a text. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), 1_500)
    } catch {
      showToast('bad', 'the browser does not allow copying here', 'select the text and copy it')
    }
  }
  return (
    <button type="button" class="compact" onClick={() => void copy()}>
      <Icon name={copied ? 'check' : 'copy'} />
      {copied ? 'Copied' : label}
    </button>
  )
}

export interface TabItem {
  readonly id: string
  readonly title: string
}

/** Row of tabs; arrow keys move between them. The panel must have the id `panel-ID`. */
export function Tabs({
  items,
  selected,
  onSelect,
  label
}: {
  readonly items: readonly TabItem[]
  readonly selected: string
  readonly onSelect: (id: string) => void
  readonly label: string
}) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const at = items.findIndex(item => item.id === selected)
    const next = items[(at + step + items.length) % items.length] as TabItem
    onSelect(next.id)
    document.getElementById(`tab-${next.id}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {items.map(({ id, title }) => (
        <button
          type="button"
          key={id}
          id={`tab-${id}`}
          role="tab"
          aria-selected={id === selected}
          aria-controls={`panel-${id}`}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
