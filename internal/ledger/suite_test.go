package ledger_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/local/dynamo"
)

// client reaches the embedded server in-process, or the endpoint in AWS_ENDPOINT_URL_DYNAMODB.
func client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	o := dynamodb.Options{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"); endpoint != "" {
		o.BaseEndpoint, o.HTTPClient = aws.String(endpoint), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		return dynamodb.New(o, ledger.Bounded)
	}
	server, err := dynamo.Open(dynamo.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	o.BaseEndpoint, o.HTTPClient = aws.String("http://in-process.invalid"), server.Transport()
	return dynamodb.New(o, ledger.Bounded)
}

// one runs the suite's test of the same name.
func one(t *testing.T) {
	t.Helper()
	t.Parallel()
	ledgertest.One(t, client(t), strings.TrimPrefix(t.Name(), "Test"))
}

func TestR01_TwinClaims(t *testing.T)               { one(t) }
func TestR01_StaleWriter(t *testing.T)              { one(t) }
func TestR01_LeaseHolds(t *testing.T)               { one(t) }
func TestCaseB013_LostReplyOurs(t *testing.T)       { one(t) }
func TestCaseB013_LostReplyOthers(t *testing.T)     { one(t) }
func TestCaseB013_LostReplyOvertook(t *testing.T)   { one(t) }
func TestCaseB013_LostCreate(t *testing.T)          { one(t) }
func TestR01_NoAnswerAtAll(t *testing.T)            { one(t) }
func TestR07_RunWithItsOperation(t *testing.T)      { one(t) }
func TestCaseB020_LateHolder(t *testing.T)          { one(t) }
func TestCaseB028_ConfirmedIsFinal(t *testing.T)    { one(t) }
func TestR05_ContentIsCheckedAtRead(t *testing.T)   { one(t) }
func TestR05_OtherPlanOtherBytes(t *testing.T)      { one(t) }
func TestR04_ExpiryOnlyWhenSettled(t *testing.T)    { one(t) }
func TestR04_ExpiryMakesNoStub(t *testing.T)        { one(t) }
func TestR04_ReopenedIsKept(t *testing.T)           { one(t) }
func TestCaseB077_UnitsOfTheExpiry(t *testing.T)    { one(t) }
func TestCaseB077_UnitsOfInstants(t *testing.T)     { one(t) }
func TestR05_ContentBeforeOperation(t *testing.T)   { one(t) }
func TestR05_ContentHasABound(t *testing.T)         { one(t) }
func TestR04_SettledTogetherExpire(t *testing.T)    { one(t) }
func TestR09_PayloadsExpireWhenAsked(t *testing.T)  { one(t) }
func TestR07_DueInOrder(t *testing.T)               { one(t) }
func TestR07_SettledLeaves(t *testing.T)            { one(t) }
func TestR07_WithoutATime(t *testing.T)             { one(t) }
func TestCaseB019_StaleHint(t *testing.T)           { one(t) }
func TestCaseB019_LostByTheIndex(t *testing.T)      { one(t) }
func TestR13_AuditGoesOn(t *testing.T)              { one(t) }
func TestCaseB043_SameEventAtOnce(t *testing.T)     { one(t) }
func TestR09_EventAnswers(t *testing.T)             { one(t) }
func TestR09_DeliveryBeside(t *testing.T)           { one(t) }
func TestR10_RepeatGuardOvertaken(t *testing.T)     { one(t) }
func TestR09_PayloadFirst(t *testing.T)             { one(t) }
func TestR09_PayloadOf1MiB(t *testing.T)            { one(t) }
func TestR10_RepeatGuard(t *testing.T)              { one(t) }
func TestR10_RepeatGuardAtOnce(t *testing.T)        { one(t) }
func TestR12_OutcomeIsNotPushedOut(t *testing.T)    { one(t) }
func TestR12_InboxOnce(t *testing.T)                { one(t) }
func TestR12_InboxTakesTheOutcome(t *testing.T)     { one(t) }
func TestR12_InboxIsNotOverwritten(t *testing.T)    { one(t) }
func TestR12_OutcomeOnce(t *testing.T)              { one(t) }
func TestCaseB005_ReceiptFits(t *testing.T)         { one(t) }
func TestR06_ChangeCitesEvidence(t *testing.T)      { one(t) }
func TestR13_RefusedAndUnchanged(t *testing.T)      { one(t) }
func TestR13_Throttled(t *testing.T)                { one(t) }
func TestR13_TooLarge(t *testing.T)                 { one(t) }
func TestCaseB070_RunsAtOnce(t *testing.T)          { one(t) }
func TestR01_StaleRunWriter(t *testing.T)           { one(t) }
func TestR05_FirstPlanStands(t *testing.T)          { one(t) }
func TestCaseB023_TokenStaysHere(t *testing.T)      { one(t) }
func TestCaseB037_Links(t *testing.T)               { one(t) }
func TestCaseB037_TriesAtOnce(t *testing.T)         { one(t) }
func TestCaseB037_TryGivenBack(t *testing.T)        { one(t) }
func TestR10_ShapeIsPermanent(t *testing.T)         { one(t) }
func TestR07_EventRevision(t *testing.T)            { one(t) }
func TestR10_WrongKeyRefuses(t *testing.T)          { one(t) }
func TestR04_RestoreSendsNothing(t *testing.T)      { one(t) }
func TestR04_ReplacedWhileRunning(t *testing.T)     { one(t) }
func TestR04_AcceptGoesOn(t *testing.T)             { one(t) }
func TestR01_OldEpochRefused(t *testing.T)          { one(t) }
func TestR01_ReplicatedIsRefused(t *testing.T)      { one(t) }
func TestR10_FirstStartAtOnce(t *testing.T)         { one(t) }
func TestR10_FirstStartOvertaken(t *testing.T)      { one(t) }
func TestR10_StackItemWasDeleted(t *testing.T)      { one(t) }
func TestR10_UncheckedOnlyReads(t *testing.T)       { one(t) }
func TestR10_OtherStackIsRestored(t *testing.T)     { one(t) }
func TestR01_DecideTogether(t *testing.T)           { one(t) }
func TestCaseB014_MismatchIsUnclear(t *testing.T)   { one(t) }
func TestCaseB014_SameTokenRepeated(t *testing.T)   { one(t) }
func TestCaseB016_InProgress(t *testing.T)          { one(t) }
func TestCaseB016_NeverAnswered(t *testing.T)       { one(t) }
func TestCaseB017_ConflictAndLost(t *testing.T)     { one(t) }
func TestCaseB017_ConflictAndThrottle(t *testing.T) { one(t) }
func TestCaseB017_ConflictAndInvalid(t *testing.T)  { one(t) }
func TestCaseB017_ManyEvents(t *testing.T)          { one(t) }

// TestR13_EveryCaseHasItsTest holds the list above to the suite's own.
func TestR13_EveryCaseHasItsTest(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("suite_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ledgertest.Names() {
		if !strings.Contains(string(source), "func Test"+name+"(t *testing.T)") {
			t.Errorf("the suite's %s is not run here", name)
		}
	}
}

// checked is a ledger on a table of its own, found to be its own.
func checked(t *testing.T, table string, c clock.Clock) *ledger.Ledger {
	t.Helper()
	api := client(t)
	ledgertest.MakeTable(t, api, table)
	var writes atomic.Int64
	l := ledger.New(ledger.Options{Client: api, Table: table, Clock: c, Fold: ledgertest.Fold, WriteID: func() string { return fmt.Sprintf("w-%d", writes.Add(1)) }})
	if _, err := l.Check(t.Context(), ledger.Identity{Stack: "s", Fingerprint: "fp"}); err != nil {
		t.Fatal(err)
	}
	return l
}
