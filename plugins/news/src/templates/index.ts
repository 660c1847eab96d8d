export { adjustedCap, adjustedMargin, TEMPLATE_PROFILES } from './profiles.ts'
export { fillTemplate } from './templates.ts'
export { TOPIC_PACKS } from './topic-packs.ts'
