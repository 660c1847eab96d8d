import { useState } from 'preact/hooks'
import { CallError, signIn } from '../api.ts'
import { CopyButton, ErrorNotice } from '../parts.tsx'

/** Asks for a sign-in code. */
export function Login({ failure, onSignedIn }: { readonly failure: Error | null; readonly onSignedIn: () => void }) {
  const [text, setText] = useState('')
  const [error, setError] = useState<Error | null>(failure)
  const submit = async (): Promise<void> => {
    try {
      await signIn(codeOf(text))
      onSignedIn()
    } catch (thrown) {
      setError(
        thrown instanceof CallError ? thrown : new CallError({ code: 'FAILED', message: (thrown as Error).message }, 0)
      )
    }
  }
  return (
    <main class="center">
      <div class="card stack" style={{ maxWidth: '460px' }}>
        <h1>Sign in to the svc console</h1>
        <p>Run this in a terminal on the machine that runs svc. It opens this page and signs you in:</p>
        <div class="row">
          <code class="grow">svc dashboard</code>
          <CopyButton label="Copy" text="svc dashboard" />
        </div>
        <p class="dim small">
          In another browser, or over SSH, run <code>svc dashboard --print</code> and paste what it prints. A code works
          once, for a minute.
        </p>
        <form
          class="form"
          onSubmit={event => {
            event.preventDefault()
            void submit()
          }}
        >
          <label class="field">
            <span class="label">Code or address</span>
            <input
              autocomplete="off"
              spellcheck={false}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </label>
          {error === null ? null : <ErrorNotice error={error} />}
          <div class="row">
            <button type="submit" class="primary" disabled={text.trim() === ''}>
              Sign in
            </button>
          </div>
        </form>
      </div>
    </main>
  )
}

/** Returns the code in an address such as `http://127.0.0.1:3847/#code=ID.SECRET`, or the text itself. */
function codeOf(text: string): string {
  return /[#&]code=([^&\s]+)/.exec(text)?.[1] ?? text.trim()
}
