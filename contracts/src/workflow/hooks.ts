import { hook } from '@svc/plugin-sdk'

export interface WorkflowStep {
  readonly runId: string
  readonly workflow: string
  /** Id of the step in its run. */
  readonly step: string
  /** Name of the activity, or of the timer or signal that the step waited for. */
  readonly activity: string
  /** `ActivityTask`, `TimerWaitCompleted`, `SignalWaitSatisfied` and so on, as in the run's journal. */
  readonly event: string
}

/** Triggered after a step of a workflow was committed, by a served program or a command. */
export const workflowStep = hook<[WorkflowStep]>('app-runtime.workflow-step', 'parallel', {
  onError: 'skip',
  summary: 'After a step of a workflow was committed. Tests of programs do not trigger it.',
  payload: {
    runId: 'id of the run',
    workflow: 'name of the workflow',
    step: 'id of the step in its run',
    activity: 'name of the activity, or of the timer or signal that the step waited for',
    event: "kind of the step, as in the run's journal"
  }
})
