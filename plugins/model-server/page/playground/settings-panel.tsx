import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Playground } from './playground-state.ts'
import { parseNumber, parseSchema, parseTools, RANGES, type Settings, type SettingsData } from './settings.ts'

const EXAMPLE_TOOLS = [
  {
    name: 'weather',
    description: 'Weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city', 'days'],
      additionalProperties: false
    }
  }
]
const EXAMPLE_SCHEMA = {
  type: 'object',
  properties: { title: { type: 'string' }, points: { type: 'array', items: { type: 'string' } } },
  required: ['title', 'points'],
  additionalProperties: false
}

type NumberField = keyof typeof RANGES
const NUMBERS: readonly (readonly [NumberField, string, string])[] = [
  ['temperature', 'Temperature', '0 to 2'],
  ['secondTemperature', 'Temperature of model 2', 'the same'],
  ['topP', 'Top-p', '0 to 1'],
  ['maxTokens', 'Maximum tokens', 'default'],
  ['seed', 'Seed', 'random']
]

/** Settings of the next requests, for all columns. */
export function SettingsPanel({ playground }: { readonly playground: Playground }) {
  const { settings, invalid } = playground
  const panel = useRef<HTMLDivElement>(null)
  const problem = invalid.value
  useEffect(() => {
    if (problem === null) return
    panel.current?.querySelector<HTMLElement>(`[name="${problem}"]`)?.focus()
    invalid.value = null
  }, [problem])
  const choices = playground.columns.value.map((_, column) => playground.choice(column))
  const noTools = choices.some(choice => choice?.tools === false)
  const noThinking = choices.some(choice => choice?.thinking === false)
  const other = choices.some(choice => choice?.server === 'project')
  const save = (): void => playground.save()
  return (
    <div class="settings" ref={panel} onChange={save}>
      <TextField
        settings={settings}
        name="system"
        label="System prompt"
        rows={3}
        placeholder="Instructions for the model"
      />
      <div class="grid">
        {NUMBERS.filter(([name]) => name !== 'secondTemperature' || choices.length > 1).map(
          ([name, label, placeholder]) => (
            <NumberInput key={name} settings={settings} name={name} label={label} placeholder={placeholder} />
          )
        )}
        <label>
          Thoughts
          <select
            name="thinking"
            value={settings.thinking.value}
            onChange={event => {
              settings.thinking.value = event.currentTarget.value as SettingsData['thinking']
            }}
          >
            <option value="default">as the model decides</option>
            <option value="on">on</option>
            <option value="off">off</option>
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            name="logprobs"
            checked={settings.logprobs.value}
            onChange={event => {
              settings.logprobs.value = event.currentTarget.checked
            }}
          />
          Show probabilities of tokens
        </label>
      </div>
      {noThinking && settings.thinking.value === 'on' ? (
        <p class="dim small">A selected model does not support thoughts, so it rejects the request.</p>
      ) : null}
      {other && settings.logprobs.value ? (
        <p class="dim small">Models of another server show no probabilities.</p>
      ) : null}
      <TextField
        settings={settings}
        name="stop"
        label="Stop strings, one a line"
        rows={2}
        placeholder="The answer ends before any of these"
      />
      <JsonField
        settings={settings}
        name="tools"
        label="Tools"
        problem={problemOf(parseTools(settings.tools.value))}
        example={EXAMPLE_TOOLS}
        hint={
          noTools
            ? 'A selected model does not support tools, so it rejects the request.'
            : 'JSON list of functions with name, description and parameters. You type their results.'
        }
      >
        <label>
          Tool choice
          <select
            name="toolChoice"
            value={settings.toolChoice.value}
            onChange={event => {
              settings.toolChoice.value = event.currentTarget.value as SettingsData['toolChoice']
            }}
          >
            <option value="auto">the model decides</option>
            <option value="required">must call a tool</option>
            <option value="none">no tools</option>
          </select>
        </label>
      </JsonField>
      <JsonField
        settings={settings}
        name="schema"
        label="JSON Schema of the answer"
        problem={problemOf(parseSchema(settings.schema.value))}
        example={EXAMPLE_SCHEMA}
        hint="The answer is generated so that it is valid. Empty: free text."
      />
    </div>
  )
}

interface FieldProps {
  readonly settings: Settings
  readonly label: string
}

interface TextProps extends FieldProps {
  readonly name: 'system' | 'stop'
  readonly rows: number
  readonly placeholder: string
}

function TextField({ settings, name, label, rows, placeholder }: TextProps) {
  return (
    <label>
      {label}
      <textarea
        name={name}
        rows={rows}
        placeholder={placeholder}
        value={settings[name].value}
        onInput={event => {
          settings[name].value = event.currentTarget.value
        }}
      />
    </label>
  )
}

interface NumberProps extends FieldProps {
  readonly name: NumberField
  readonly placeholder: string
}

function NumberInput({ settings, name, label, placeholder }: NumberProps) {
  const problem = problemOf(parseNumber(settings[name].value, RANGES[name]))
  return (
    <label>
      {label}
      <input
        name={name}
        inputMode="decimal"
        autocomplete="off"
        placeholder={placeholder}
        aria-invalid={problem !== null}
        aria-describedby={problem === null ? undefined : `problem-${name}`}
        value={settings[name].value}
        onInput={event => {
          settings[name].value = event.currentTarget.value
        }}
      />
      {problem === null ? null : (
        <span class="bad-text small" id={`problem-${name}`}>
          {label} {problem}
        </span>
      )}
    </label>
  )
}

interface JsonProps extends FieldProps {
  readonly name: 'tools' | 'schema'
  readonly problem: string | null
  readonly hint: string
  readonly example: unknown
  readonly children?: ComponentChildren
}

function JsonField({ settings, name, label, problem, hint, example, children }: JsonProps) {
  const text = settings[name]
  return (
    <details open={text.value !== ''}>
      <summary>
        {label}
        {text.value === '' ? '' : problem === null ? ' (set)' : ' (invalid)'}
      </summary>
      <div class="stack">
        <textarea
          name={name}
          class="code"
          rows={8}
          spellcheck={false}
          aria-label={label}
          aria-invalid={problem !== null}
          aria-describedby={`about-${name}`}
          value={text.value}
          onInput={event => {
            text.value = event.currentTarget.value
          }}
        />
        <p id={`about-${name}`} class={problem === null ? 'dim small' : 'bad-text small'}>
          {problem ?? hint}
        </p>
        <div class="row">
          {children}
          <button
            type="button"
            class="small"
            onClick={() => {
              text.value = JSON.stringify(example, null, 2)
            }}
          >
            Insert an example
          </button>
          <button
            type="button"
            class="small"
            disabled={text.value === ''}
            onClick={() => {
              text.value = ''
            }}
          >
            Clear
          </button>
        </div>
      </div>
    </details>
  )
}

function problemOf(parsed: { readonly ok: true } | { readonly ok: false; readonly problem: string }): string | null {
  return parsed.ok ? null : parsed.problem
}
