import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { toml } from '@codemirror/legacy-modes/mode/toml'
import { searchKeymap } from '@codemirror/search'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { PreviewDialog } from './config-draft.tsx'

/** Colours of both themes. */
const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--text-dim)', fontStyle: 'italic' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.bracket, tags.heading], color: 'var(--text)', fontWeight: '600' }
])

interface RawConfig {
  readonly text: string
  readonly path: string
  readonly editable: boolean
  /** Why the text cannot be edited here; null if it can. */
  readonly reason: string | null
}

/** The whole svc.toml in an editor. */
export function TomlPage() {
  const source = useSource('kernel.config.read', {})
  const [text, setText] = useState<string | null>(null)
  const [preview, setPreview] = useState(false)
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading lines={8} />
  const raw = source.value.value as RawConfig
  const locked = raw.editable ? null : (raw.reason ?? 'the file cannot be edited here')
  return (
    <div class="stack">
      <div class="row">
        <code class="grow">{raw.path}</code>
        <button
          type="button"
          class="primary"
          disabled={text === null || text === raw.text || locked !== null}
          onClick={() => setPreview(true)}
        >
          Preview
        </button>
      </div>
      {locked === null ? null : <div class="notice warn">{locked}</div>}
      <Editor key={raw.text} text={raw.text} readOnly={locked !== null} onChange={setText} />
      {preview && text !== null ? (
        <PreviewDialog
          input={{ raw: text }}
          onClose={() => setPreview(false)}
          onWritten={() => {
            setPreview(false)
            setText(null)
            source.refresh()
          }}
        />
      ) : null}
    </div>
  )
}

interface EditorProps {
  readonly text: string
  readonly readOnly: boolean
  readonly onChange: (text: string) => void
}

/** Text editor in a shadow root: there its style sheet passes the content security policy. */
function Editor({ text, readOnly, onChange }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = host.current as HTMLDivElement
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const parent = document.createElement('div')
    root.append(parent)
    const view = new EditorView({
      doc: text,
      parent,
      root,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        StreamLanguage.define(toml),
        syntaxHighlighting(COLOURS),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
        EditorView.lineWrapping,
        EditorView.editable.of(!readOnly),
        EditorView.contentAttributes.of({ 'aria-label': 'svc.toml' }),
        EditorView.theme({
          '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
          '.cm-content': { fontFamily: 'var(--font-mono)', caretColor: 'var(--text)' },
          '.cm-gutters': { color: 'var(--text-dim)', backgroundColor: 'var(--surface-2)', border: '0' }
        }),
        EditorView.updateListener.of(update => {
          if (update.docChanged) onChange(update.state.doc.toString())
        })
      ]
    })
    return () => {
      view.destroy()
      parent.remove()
    }
  }, [])
  return <div class="editor" ref={host} />
}
