// Child process of bench/mesh/dbos.ts: a worker of DBOS with one workflow of one step.
import { createRequire } from 'node:module'

/** First message of the parent. */
export interface DbosWorkerTask {
  /** Folder of the packages. */
  readonly packages: string
  readonly url: string
  readonly worker: number
}

/** Later message of the parent. */
export interface DbosWorkerCall {
  readonly runs: number
  /** Maximum number of runs at a time. */
  readonly concurrency: number
}

process.once('message', async ({ packages, url, worker }: DbosWorkerTask) => {
  const { DBOS } = createRequire(`${packages}/package.json`)('@dbos-inc/dbos-sdk')
  const step = async (n: number): Promise<number> => n + 1
  const workflow: (n: number) => Promise<number> = DBOS.registerWorkflow(
    async (n: number) => DBOS.runStep(() => step(n), { name: 'step' }),
    { name: 'one' }
  )
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    logLevel: 'error',
    executorID: `worker-${worker}`,
    applicationVersion: 'bench'
  })
  await DBOS.launch()
  process.on('message', async ({ runs, concurrency }: DbosWorkerCall) => {
    let started = 0
    const work = async (): Promise<void> => {
      while (started < runs) {
        const n = started++
        if ((await workflow(n)) !== n + 1) throw new Error(`the run ${n} has another result`)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    process.send?.('done')
  })
  process.send?.('ready')
})
process.once('disconnect', () => process.exit(0))
