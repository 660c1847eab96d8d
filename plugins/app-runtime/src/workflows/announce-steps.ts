import { type KernelAdmin, type Program, type WorkflowStep, workflowStep } from '@svc/contracts'
import { errorMessage, type PluginContext, settlesWithin } from '@svc/plugin-sdk'
import type { Job } from '../worker/job.ts'

/** Time limit for step taps after the end of a program, in milliseconds. */
const TAPS_MS = 5_000

export interface StepAnnouncer {
  stepped(step: WorkflowStep): void
  /** Resolves when all taps have ended, or at their time limit. */
  done(): Promise<void>
}

/**
 * Triggers the hook of workflow steps for a program that a command runs. A process for a single command starts without
 * the project's plugins; for a program with workflows, those are activated first.
 */
export async function announceSteps(
  ctx: Pick<PluginContext, 'isTapped' | 'trigger' | 'log'>,
  { module }: Pick<Program, 'module'>,
  work: Job['work']['kind'],
  admin: KernelAdmin | undefined
): Promise<StepAnnouncer> {
  const hasSteps = work !== 'test' && module.workflows.length > 0
  if (hasSteps && admin?.serves === false) await activateOthers(ctx, admin)
  const taps: Promise<unknown>[] = []
  return {
    stepped(step) {
      if (ctx.isTapped(workflowStep)) taps.push(ctx.trigger(workflowStep, step))
    },
    async done() {
      await settlesWithin(TAPS_MS, Promise.allSettled(taps))
    }
  }
}

/** Activates plugins from outside svc that open no ports: only those tap steps. */
async function activateOthers({ log }: Pick<PluginContext, 'log'>, admin: KernelAdmin): Promise<void> {
  for (const { name, state } of admin.plugins()) {
    if (state !== 'resolved' && state !== 'discovered') continue
    if (admin.isBundled(name) || admin.manifest(name)?.serves === true) continue
    await admin.apply({ activate: [name] }).catch((error: unknown) => {
      log.warn(`plugin ${name} does not see the steps of workflows: ${errorMessage(error)}`)
    })
  }
}
