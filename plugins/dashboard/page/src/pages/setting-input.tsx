import { useState } from 'preact/hooks'
import { type FormValue, SchemaFields } from '../form/schema-form.tsx'

interface SettingInputProps {
  readonly settingKey: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly secret: boolean
  readonly value: unknown
  /** Whether a file sets it, so that it can be removed there. */
  readonly isSet: boolean
  /** Receives the new value; null removes the key from svc.toml. */
  readonly onChange: (value: unknown) => void
}

/** Control for one setting. A secret takes a reference, never the value itself. */
export function SettingInput({ settingKey, schema, secret, value, isSet, onChange }: SettingInputProps) {
  const [text, setText] = useState(secret && typeof value === 'string' && !value.includes('*') ? value : '')
  const name = settingKey.split('.').at(-1) as string
  return (
    <div class="form">
      {secret ? (
        <label class="field">
          <span class="label">Reference to the secret</span>
          <input
            autocomplete="off"
            placeholder="secret://env/NAME"
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value)
              onChange(currentTarget.value === '' ? undefined : currentTarget.value)
            }}
          />
          <span class="small dim">A reference such as secret://env/NAME. svc refuses to write the secret itself.</span>
        </label>
      ) : (
        <SchemaFields
          schema={{ type: 'object', properties: { [name]: { ...schema, description: '' } } }}
          value={{ [name]: isMasked(value) ? undefined : (value ?? undefined) } as FormValue}
          problems={{}}
          onChange={next => onChange(next[name])}
        />
      )}
      {isSet ? (
        <div class="row">
          <button type="button" class="compact" onClick={() => onChange(null)}>
            Remove from svc.toml
          </button>
        </div>
      ) : null}
    </div>
  )
}

/** Returns whether a value contains a masked password, which must not be written back. */
function isMasked(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes('********')
}
