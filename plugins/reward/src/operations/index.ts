import type { PluginContext } from '@svc/plugin-sdk'
import type { Dependencies } from '../dependencies.ts'
import {
  configHandler,
  configOperation,
  configSet,
  configSetHandler,
  switchHandler,
  switchOff,
  switchOn
} from './config.ts'
import { eventsHandler, eventsOperation } from './events.ts'
import {
  ackAllHandler,
  ackHandler,
  notificationAck,
  notificationsAckAll,
  notificationsHandler,
  notificationsList
} from './notifications.ts'
import { achievementsHandler, achievementsOperation, progressHandler, progressSnapshot } from './progress.ts'
import { questList, questsHandler } from './quests.ts'

export const operations = [
  progressSnapshot,
  achievementsOperation,
  notificationsList,
  notificationAck,
  notificationsAckAll,
  eventsOperation,
  questList,
  configOperation,
  configSet,
  switchOff,
  switchOn
]

export function implementOperations(ctx: Pick<PluginContext, 'implement'>, dependencies: Dependencies): void {
  ctx.implement(progressSnapshot, progressHandler(dependencies))
  ctx.implement(achievementsOperation, achievementsHandler(dependencies))
  ctx.implement(notificationsList, notificationsHandler(dependencies))
  ctx.implement(notificationAck, ackHandler(dependencies))
  ctx.implement(notificationsAckAll, ackAllHandler(dependencies))
  ctx.implement(eventsOperation, eventsHandler(dependencies))
  ctx.implement(questList, questsHandler(dependencies))
  ctx.implement(configOperation, configHandler(dependencies))
  ctx.implement(configSet, configSetHandler(dependencies))
  ctx.implement(switchOff, switchHandler(dependencies, false))
  ctx.implement(switchOn, switchHandler(dependencies, true))
}
