import {
  clarifications,
  kernelPort,
  orchestrator,
  questionAnswered,
  questioning,
  rewardEvents,
  sendReward
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { DoubtResolver } from './doubt-resolver.ts'
import { toRewardEvent } from './reward-event.ts'

/** How often the questions that other processes may have answered are looked at, in milliseconds. */
const LOOK_MS = 5_000

export default definePlugin({
  name: 'resolution-agent',
  summary: 'Asks a person about doubted tasks, and resolves the doubts',
  requires: { kernel: kernelPort, orchestrator, questioning, clarifications },
  hooks: [rewardEvents],
  activate(ctx, { kernel, orchestrator, questioning, clarifications }) {
    const resolver = new DoubtResolver({ orchestrator, questioning, clarifications, log: ctx.log })
    ctx.effect(
      'orchestrator events',
      orchestrator.subscribe(event => {
        resolver.observe(event)
        if (!ctx.isTapped(rewardEvents)) return
        const reward = toRewardEvent(kernel.repositoryId, event)
        if (reward !== null) sendReward(ctx, () => reward)
      })
    )
    ctx.on(questionAnswered, ({ session_id }) => resolver.answered(session_id))
    const timer = setInterval(() => resolver.look(), LOOK_MS).unref()
    ctx.effect('answers of other processes', () => clearInterval(timer))
    resolver.begin()
    ctx.effect('doubts', () => resolver.close())
  }
})
