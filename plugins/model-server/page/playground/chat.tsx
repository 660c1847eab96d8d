import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { AnswerView, Editor } from './answer-view.tsx'
import type { Turn } from './conversation.ts'
import type { Playground } from './playground-state.ts'
import { keyOf } from './request.ts'
import { SettingsPanel } from './settings-panel.tsx'

/** Distance from the end of the conversation within which the page follows a growing answer, in pixels. */
const FOLLOW_WITHIN = 160

export function Chat({ playground }: { readonly playground: Playground }) {
  const turns = playground.turns.value
  const columns = playground.columns.value
  const end = useRef<HTMLDivElement>(null)
  const notice = playground.notice.value
  const problem = playground.problem.value
  useFollow(playground, end)
  useEffect(() => {
    const stop = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') playground.stop()
    }
    document.addEventListener('keydown', stop)
    return () => document.removeEventListener('keydown', stop)
  }, [playground])
  return (
    <div class="playground">
      <ModelBar playground={playground} />
      {notice === null ? null : (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      {problem === null ? null : (
        <p class="notice" role="status">
          Some models are not listed: {problem}
        </p>
      )}
      <div class="turns" role="log" aria-label="Conversation" aria-live="off">
        {turns.length === 0 ? (
          <div class="empty">
            <p>Write a message to talk to the model.</p>
            <p class="dim">
              Compare sends it to two models, or twice to one at two temperatures. Settings has the system prompt,
              tools, a schema for the answer, and token probabilities.
            </p>
          </div>
        ) : (
          turns.map((turn, index) => (
            <TurnView key={turn.id} playground={playground} turn={turn} isLast={index === turns.length - 1} />
          ))
        )}
        <div ref={end} class="end" />
      </div>
      <Composer playground={playground} columns={columns.length} />
    </div>
  )
}

/** Scrolls with a growing answer while the reader is at its end. */
function useFollow(playground: Playground, end: { readonly current: HTMLElement | null }): void {
  const scheduled = useRef(false)
  useSignalEffect(() => {
    for (const { answers } of playground.turns.value.slice(-1)) {
      for (const answer of answers.value) {
        for (const step of answer?.value ?? []) {
          step.content.value
          step.thinking.value
          step.calls.value
        }
      }
    }
    if (scheduled.current) return
    scheduled.current = true
    requestAnimationFrame(() => {
      scheduled.current = false
      const element = end.current
      if (element === null || element.getBoundingClientRect().top > window.innerHeight + FOLLOW_WITHIN) return
      element.scrollIntoView({ block: 'nearest' })
    })
  })
}

function ModelBar({ playground }: { readonly playground: Playground }) {
  const columns = playground.columns.value
  const showsSettings = useSignal(false)
  // An invalid setting must be visible to be corrected.
  useSignalEffect(() => {
    if (playground.invalid.value !== null) showsSettings.value = true
  })
  return (
    <>
      <div class="bar">
        {columns.map((_, column) => (
          <ModelSelect key={column} playground={playground} column={column} compared={columns.length > 1} />
        ))}
        <label class="check">
          <input
            type="checkbox"
            checked={columns.length > 1}
            disabled={playground.choices.value.length === 0}
            onChange={event => playground.compare(event.currentTarget.checked)}
          />
          Compare
        </label>
        <span class="grow" />
        <button
          type="button"
          aria-expanded={showsSettings.value}
          onClick={() => {
            showsSettings.value = !showsSettings.value
          }}
        >
          Settings
        </button>
        <button type="button" disabled={playground.turns.value.length === 0} onClick={() => playground.clear()}>
          New chat
        </button>
      </div>
      {showsSettings.value ? <SettingsPanel playground={playground} /> : null}
    </>
  )
}

interface ModelSelectProps {
  readonly playground: Playground
  readonly column: number
  readonly compared: boolean
}

function ModelSelect({ playground, column, compared }: ModelSelectProps) {
  const choices = playground.choices.value
  const chosen = playground.choice(column)
  return (
    <label class="model">
      {compared ? `Model ${column + 1}` : 'Model'}
      <select
        disabled={choices.length === 0}
        value={chosen === undefined ? '' : keyOf(chosen)}
        onChange={event => {
          playground.choose(column, event.currentTarget.value)
          playground.save()
        }}
      >
        {choices.length === 0 ? <option value="">no models yet</option> : null}
        {choices.map(choice => (
          <option key={keyOf(choice)} value={keyOf(choice)}>
            {choice.server === 'own' ? choice.model : `${choice.model} (${choice.url ?? 'other server'})`}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TurnProps {
  readonly playground: Playground
  readonly turn: Turn
  readonly isLast: boolean
}

function TurnView({ playground, turn, isLast }: TurnProps) {
  const editing = useSignal(false)
  const columns = playground.columns.value
  const answers = turn.answers.value
  return (
    <div class="turn">
      <div class="message">
        {editing.value ? (
          <Editor
            label="Edit the message"
            text={turn.text.value}
            action={isLast ? 'Send again' : 'Send again, and remove what follows'}
            onSave={text => {
              const sent = playground.resend(turn, text)
              if (sent) editing.value = false
              return sent
            }}
            onCancel={() => {
              editing.value = false
            }}
          />
        ) : (
          <>
            <p class="plain">{turn.text.value}</p>
            <button
              type="button"
              class="small"
              aria-label="Edit the message"
              onClick={() => {
                editing.value = true
              }}
            >
              Edit
            </button>
          </>
        )}
      </div>
      <div class="columns" data-columns={columns.length}>
        {columns.map((_, column) => {
          const answer = answers[column]
          return (
            <div class="column" key={column}>
              {columns.length > 1 ? <h3>{playground.title(column)}</h3> : null}
              {answer === undefined ? (
                <p class="dim">No answer: the model was added later.</p>
              ) : (
                <AnswerView playground={playground} turn={turn} column={column} answer={answer} isLast={isLast} />
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Composer({ playground, columns }: { readonly playground: Playground; readonly columns: number }) {
  const { draft, running } = playground
  const allowed = playground.api.may('model.chat')
  const send = (): void => {
    if (running.value || !playground.send(draft.value)) return
    draft.value = ''
    playground.save()
  }
  return (
    <form
      class="composer"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        name="message"
        rows={2}
        aria-label="Message"
        aria-describedby="keys"
        placeholder={allowed ? 'Message' : 'Your role may not use the models'}
        disabled={!allowed}
        value={draft.value}
        onInput={event => {
          draft.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <div class="row">
        <span id="keys" class="dim small keys">
          Enter sends, Shift+Enter starts a line, Esc stops
        </span>
        <span class="grow" />
        {running.value ? (
          <button type="button" class="danger" onClick={() => playground.stop()}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!allowed || draft.value.trim() === ''}>
            {columns > 1 ? 'Send to both' : 'Send'}
          </button>
        )}
      </div>
    </form>
  )
}
