import type { FocusDepth, InterruptionChannel, InterruptionOutcome, InterruptionSignals } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { clamp } from './numbers.ts'

/** The setting `interruption_calibration`. */
export type InterruptionCalibration = Settings['interruption_calibration']

/** State of the attention budget and of the user. */
export interface InterruptionScene {
  readonly enabled: boolean
  /** Spent attention / attention budget. */
  readonly ratio: number
  readonly alert: number
  readonly focus: FocusDepth
  /** Milliseconds of an interruption of cost 1. */
  readonly baseCostMs: number
}

/** Signals after calibration, with all fields set. */
export interface CalibratedSignals {
  readonly gain_bits: number
  readonly user_cost: number
  readonly trust: number
  readonly confidence: number
  readonly contradiction_ratio: number
  readonly high_risk: boolean
  readonly open_session: boolean
  readonly backlog: number
  readonly turn: number
  readonly max_turns: number
}

export interface InterruptionVerdict {
  readonly decision: InterruptionOutcome
  /** Number of the rule that decided, 1 to 9. */
  readonly rule: number
  readonly reason: string
  readonly scaled_cost_ms: number
  readonly signals: CalibratedSignals
}

/** Extra gain, in bits, above which a question interrupts even if a clarification session is open. */
const PRIORS: Readonly<Record<InterruptionChannel, number>> = {
  plan: 0.06,
  task_submit: 0.05,
  a2a: 0.04,
  inline_assist: 0.03
}

const FOCUS: Readonly<Record<FocusDepth, number>> = { Deep: 1.35, Focused: 1.12, Ambient: 1 }

/** Minimum cost; the gain is divided by the cost. */
const MIN_COST = 0.01

export function calibrate(calibration: InterruptionCalibration, signals: InterruptionSignals): CalibratedSignals {
  const backlog = Math.max(0, signals.backlog ?? 0)
  const gain = signals.gain_bits + calibration[`${signals.channel}_gain`] - calibration.backlog_penalty * backlog
  return {
    gain_bits: Math.max(0, gain),
    user_cost: Math.max(0, signals.user_cost),
    trust: clamp((signals.trust ?? 0.5) * calibration.trust_adjustment_scale, 0, 1),
    confidence: clamp(signals.confidence ?? 0.5, 0, 1),
    contradiction_ratio: clamp(signals.contradiction_ratio ?? 0, 0, 1),
    high_risk: signals.high_risk ?? false,
    open_session: signals.open_session ?? false,
    backlog,
    turn: signals.turn ?? 0,
    max_turns: signals.max_turns ?? Number.POSITIVE_INFINITY
  }
}

/**
 * Returns the cost of an interruption in milliseconds:
 * base cost × user cost × (1 + 0.22 backlog) × (0.25 (1 - trust) + 0.75) × focus × (1 + 0.35 contradiction).
 */
export function scaledCostMs(
  scene: Pick<InterruptionScene, 'focus' | 'baseCostMs'>,
  signals: CalibratedSignals
): number {
  const { user_cost: cost, backlog, trust, contradiction_ratio: contradiction } = signals
  const caution = 0.25 * (1 - trust) + 0.75
  return scene.baseCostMs * cost * (1 + 0.22 * backlog) * caution * FOCUS[scene.focus] * (1 + 0.35 * contradiction)
}

/** Returns the bits per cost below which a question is deferred: more if attention is spent or trust is low. */
export function deferThreshold(scene: Pick<InterruptionScene, 'ratio' | 'alert'>, trust: number): number {
  const { ratio, alert } = scene
  const spent = alert > 0 ? ratio / alert : ratio
  return 0.11 + 0.12 * spent + 0.35 * Math.max(0, ratio - alert) + 0.08 * (1 - trust)
}

/** Decides whether to interrupt the user now. The first matching rule of nine decides. */
export function judgeInterruption(
  calibration: InterruptionCalibration,
  scene: InterruptionScene,
  input: InterruptionSignals
): InterruptionVerdict {
  const signals = calibrate(calibration, input)
  const { gain_bits: gain, high_risk: risky, confidence, contradiction_ratio: contradiction, backlog } = signals
  const cost = scaledCostMs(scene, signals)
  const verdict = (rule: number, decision: InterruptionOutcome, reason: string): InterruptionVerdict => ({
    decision,
    rule,
    reason,
    scaled_cost_ms: cost,
    signals
  })

  if (!scene.enabled) return verdict(1, 'InterruptNow', 'the attention budget is disabled')
  if (risky && (confidence < 0.42 || contradiction > 0.38))
    return verdict(2, 'RequireHuman', 'the risk is high, and the evidence is weak or contradictory')
  if (signals.turn >= signals.max_turns)
    return verdict(3, 'ProceedAutonomously', `the limit of ${signals.max_turns} questions is reached`)
  const exhausted = scene.ratio >= 1
  if (exhausted && !risky && gain < 0.22 + 0.15 * FOCUS[scene.focus])
    return verdict(4, 'ProceedAutonomously', 'the attention budget is spent, and the expected gain is small')
  if (exhausted && risky) return verdict(5, 'RequireHuman', 'the attention budget is spent, but the risk is high')
  if (signals.open_session && backlog === 0 && gain < 0.1 + PRIORS[input.channel])
    return verdict(6, 'BatchWithExisting', 'the question can join an open session')
  if (backlog >= 1 && gain < 0.11)
    return verdict(7, 'DeferUntilCheckpoint', `${backlog} questions are pending, and the expected gain is small`)
  const utility = gain / Math.max(signals.user_cost, MIN_COST)
  const threshold = deferThreshold(scene, signals.trust)
  if (utility < threshold)
    return verdict(
      8,
      'DeferUntilCheckpoint',
      `a gain of ${utility.toFixed(3)} bits per cost is below the threshold ${threshold.toFixed(3)}`
    )
  return verdict(
    9,
    'InterruptNow',
    `a gain of ${utility.toFixed(3)} bits per cost reaches the threshold ${threshold.toFixed(3)}`
  )
}
