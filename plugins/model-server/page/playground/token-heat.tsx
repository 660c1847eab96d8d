import { useSignal } from '@preact/signals'
import type { TokenEntry } from './conversation.ts'

/** Share of the warning colour behind a token of probability 0, in percent. Text stays readable on it. */
const MAX_HEAT = 45

/**
 * Draws each token on a colour that is stronger the less probable the token was. The focused token shows its
 * alternatives; the arrow keys move the focus.
 */
export function TokenHeat({ tokens }: { readonly tokens: readonly TokenEntry[] }) {
  const focused = useSignal(0)
  const shown = useSignal<number | null>(null)
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = Math.min(tokens.length - 1, Math.max(0, focused.value + step))
    focused.value = next
    ;((event.currentTarget as HTMLElement).children[next] as HTMLElement | undefined)?.focus()
  }
  const at = shown.value
  const detail = at === null ? undefined : tokens[at]
  return (
    <div class="heat">
      <div
        class="tokens"
        role="listbox"
        aria-label="Tokens by probability. Arrow keys move between them."
        onKeyDown={move}
      >
        {tokens.map((entry, index) => (
          <span
            key={index}
            class="token"
            role="option"
            tabIndex={index === focused.value ? 0 : -1}
            aria-label={`${JSON.stringify(entry.token)}, ${percent(entry.logprob)}`}
            aria-selected={index === at}
            style={{ backgroundColor: heat(entry.logprob) }}
            onFocus={() => {
              focused.value = index
              shown.value = index
            }}
          >
            {entry.token}
          </span>
        ))}
      </div>
      {detail === undefined ? (
        <p class="dim small">Select a token to see its alternatives.</p>
      ) : (
        <Alternatives entry={detail} />
      )}
    </div>
  )
}

function Alternatives({ entry }: { readonly entry: TokenEntry }) {
  const others = entry.top_logprobs.some(({ token }) => token === entry.token)
    ? entry.top_logprobs
    : [entry, ...entry.top_logprobs]
  return (
    <table class="alternatives" aria-live="polite">
      <caption>
        Alternatives to <code>{JSON.stringify(entry.token)}</code>
      </caption>
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col">Probability</th>
          <th scope="col">Log probability</th>
        </tr>
      </thead>
      <tbody>
        {others.map(({ token, logprob }, index) => (
          <tr key={index} class={token === entry.token ? 'chosen' : undefined}>
            <td>
              <code>{JSON.stringify(token)}</code>
              {token === entry.token ? ' chosen' : ''}
            </td>
            <td>{percent(logprob)}</td>
            <td>{logprob.toFixed(3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function heat(logprob: number): string {
  return `color-mix(in srgb, var(--warn) ${Math.round((1 - Math.exp(logprob)) * MAX_HEAT)}%, transparent)`
}

function percent(logprob: number): string {
  const value = Math.exp(logprob) * 100
  return `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)} %`
}
