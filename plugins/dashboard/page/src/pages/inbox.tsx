import type { InboxAnswer, InboxItem } from '@svc/contracts'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { AskDialog } from '../ask.tsx'
import { Confirm, callText } from '../confirm.tsx'
import { agoText, durationText } from '../format.ts'
import { failedSources, inboxError, inboxItems } from '../inbox-source.ts'
import { Badge, Empty, ErrorNotice, Loading, reportError } from '../parts.tsx'
import { query, setQuery } from '../router.ts'
import { mayCall, operationsById, showToast } from '../state.ts'
import { Value } from '../value.tsx'

const KINDS: Readonly<Record<InboxItem['kind'], string>> = {
  approval: 'Approvals',
  doubt: 'Doubts',
  question: 'Questions',
  signal: 'Signals',
  failure: 'Failures'
}

/** Everything that waits for a person, with its answers. */
export function Inbox() {
  const items = inboxItems.value
  if (inboxError.value !== null) return <ErrorNotice error={inboxError.value} />
  if (items === null) return <Loading />
  const kinds = [...new Set(items.map(({ kind }) => kind))].sort()
  const asked = query.value.get('kind') ?? ''
  const chosen = kinds.find(kind => kind === asked) ?? ''
  const shown = chosen === '' ? items : items.filter(({ kind }) => kind === chosen)
  const count = (kind: string): number => items.filter(each => each.kind === kind).length
  return (
    <div class="stack">
      {kinds.length < 2 ? null : (
        <fieldset class="row chips">
          <legend class="visually-hidden">Kind</legend>
          {['', ...kinds].map(kind => (
            <button
              key={kind}
              type="button"
              class="compact"
              aria-pressed={kind === chosen}
              onClick={() => setQuery({ kind })}
            >
              {kind === '' ? `All ${items.length}` : `${KINDS[kind as InboxItem['kind']]} ${count(kind)}`}
            </button>
          ))}
        </fieldset>
      )}
      {failedSources.value.map(({ operation, message }) => (
        <div class="notice warn" key={operation}>{`${operation} did not answer: ${message}`}</div>
      ))}
      {items.length === 0 ? (
        <Empty>
          Nothing waits for you. Approvals, doubts, questions of agents, workflows that wait for a signal, failed jobs,
          missing secrets, used up limits and new versions appear here.
        </Empty>
      ) : (
        shown.map(item => <Item key={`${item.kind} ${item.id}`} item={item} />)
      )}
    </div>
  )
}

function Item({ item }: { readonly item: InboxItem }) {
  const { kind, title, body, since, deadline, link, answers } = item
  const left = deadline === undefined ? null : deadline - Date.now()
  return (
    <article class="card stack item" aria-label={title}>
      <div class="row">
        <Badge tone={kind === 'failure' ? 'bad' : kind === 'approval' || kind === 'doubt' ? 'warn' : 'accent'}>
          {kind}
        </Badge>
        <h2>{link.startsWith('/ui/') ? <a href={link}>{title}</a> : title}</h2>
        <span class="grow" />
        <span class="small dim">{agoText(since)}</span>
        {left === null ? null : (
          <Badge tone={left < 60_000 ? 'bad' : 'warn'}>{left <= 0 ? 'overdue' : `${durationText(left)} left`}</Badge>
        )}
      </div>
      {body === '' ? null : <Value value={body} format="markdown" />}
      <div class="row">
        {answers.map(answer => (
          <Answer key={answer.label} answer={answer} title={title} />
        ))}
      </div>
    </article>
  )
}

function Answer({ answer, title }: { readonly answer: InboxAnswer; readonly title: string }) {
  const { label, operation, input, ask, tone } = answer
  const [step, setStep] = useState<'closed' | 'ask' | 'confirm'>('closed')
  const [busy, setBusy] = useState(false)
  const isDestructive = operationsById.value.get(operation)?.effect === 'destructive'
  const send = async (): Promise<void> => {
    setStep('closed')
    setBusy(true)
    try {
      await call(operation, input, { confirmed: isDestructive })
      showToast('ok', `${label}: done`)
    } catch (error) {
      reportError(error)
    } finally {
      setBusy(false)
    }
  }
  const open = (): void => {
    if (ask !== undefined && ask.length > 0) setStep('ask')
    else if (isDestructive || tone === 'danger') setStep('confirm')
    else void send()
  }
  return (
    <>
      <button type="button" class={tone ?? ''} disabled={busy || !mayCall(operation)} onClick={open}>
        {label}
      </button>
      {step === 'ask' ? (
        <AskDialog
          title={label}
          operation={operation}
          input={input}
          ask={ask ?? []}
          onClose={() => setStep('closed')}
          onDone={() => setStep('closed')}
        />
      ) : step === 'confirm' ? (
        <Confirm
          title={`${label}: ${title}?`}
          text={callText(operation, input)}
          {...(isDestructive ? { word: operation } : {})}
          label={label}
          onConfirm={() => void send()}
          onClose={() => setStep('closed')}
        />
      ) : null}
    </>
  )
}
