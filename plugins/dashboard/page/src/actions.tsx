import type { DashboardAction } from '@svc/contracts'
import { useState } from 'preact/hooks'
import { call } from './api.ts'
import { boundInput, valueAt } from './bindings.ts'
import { Confirm, callText } from './confirm.tsx'
import { lazy } from './lazy.tsx'
import { reportError } from './parts.tsx'
import { consoleState, mayCall, operationsById, showToast } from './state.ts'

const AskDialog = lazy(() => import('./ask.tsx').then(module => module.AskDialog))

interface ActionButtonsProps {
  /** Kind of row, as its view names it. */
  readonly kind: string | undefined
  readonly row: unknown
  /** Name of the row, for questions about it. */
  readonly name?: string
  readonly compact?: boolean
  readonly onDone?: () => void
}

/** Buttons for the actions that plugins offer on a row. */
export function ActionButtons({ kind, row, name = '', compact = false, onDone }: ActionButtonsProps) {
  if (kind === undefined) return null
  const offered = (consoleState.value?.actions ?? []).filter(
    ({ on, when, operation }) =>
      on === kind && mayCall(operation) && (when === undefined || when.in.includes(valueAt(row, when.field)))
  )
  if (offered.length === 0) return null
  return (
    <div class="row">
      {offered.map(action => (
        <ActionButton
          key={`${action.label} ${action.operation}`}
          action={action}
          row={row}
          name={name}
          compact={compact}
          onDone={onDone}
        />
      ))}
    </div>
  )
}

interface ActionButtonProps {
  readonly action: DashboardAction
  readonly row: unknown
  readonly name: string
  readonly compact: boolean
  readonly onDone: (() => void) | undefined
}

function ActionButton({ action, row, name, compact, onDone }: ActionButtonProps) {
  const { label, operation, bind, ask, tone } = action
  const [step, setStep] = useState<'closed' | 'ask' | 'confirm'>('closed')
  const [busy, setBusy] = useState(false)
  const input = boundInput(bind, { route: {}, filters: new URLSearchParams(), row })
  const isDestructive = operationsById.value.get(operation)?.effect === 'destructive'
  const run = async (confirmed: boolean): Promise<void> => {
    setStep('closed')
    setBusy(true)
    try {
      await call(operation, input, { confirmed })
      showToast('ok', `${label}: done`)
      onDone?.()
    } catch (error) {
      reportError(error)
    } finally {
      setBusy(false)
    }
  }
  const open = (): void => {
    if (ask !== undefined && ask.length > 0) setStep('ask')
    else if (isDestructive || tone === 'danger') setStep('confirm')
    else void run(false)
  }
  return (
    <>
      <button
        type="button"
        class={`${compact ? 'compact' : ''} ${tone ?? ''}`}
        disabled={busy}
        onClick={event => {
          event.stopPropagation()
          open()
        }}
      >
        {label}
      </button>
      {step === 'ask' ? (
        <AskDialog
          title={label}
          operation={operation}
          input={input}
          ask={ask ?? []}
          onClose={() => setStep('closed')}
          onDone={() => {
            setStep('closed')
            onDone?.()
          }}
        />
      ) : step === 'confirm' ? (
        <Confirm
          title={name === '' ? `${label}?` : `${label}: ${name}?`}
          text={callText(operation, input)}
          {...(isDestructive ? { word: operation } : {})}
          label={label}
          onConfirm={() => void run(true)}
          onClose={() => setStep('closed')}
        />
      ) : null}
    </>
  )
}
