export { newsErrors } from './errors.ts'
export {
  NEWS_TOPIC,
  newsFeed,
  newsInbox,
  newsItems,
  newsPreview,
  newsPublish,
  newsResolve,
  newsScan,
  newsStatus
} from './operations/operations.ts'
export { sideBySide } from './operations/side-by-side.ts'
