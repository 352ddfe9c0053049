"""The numbers that [AFZ24, section 6] and the files published with it give, for the tables of the report."""

REVIEWS = 50_000
ACCURACY = {2: 0.791, 4: 0.823, 8: 0.851, 16: 0.882}  # the best epoch on the test set
LOSS = {2: 0.160, 4: 0.015}  # training loss at epoch 100, softmax
LOSS_GAP = 0.001  # hardmax within this of softmax
ALPHA = 2.35  # of the saved model with d = 2
WORDS = 121_296
LEADERS = ("great", "worst", "waste", "love", "awful", "money", "year", "amazing", "boring", "perfect")
CONFIDENT = 0.95  # reviews whose leaders are counted: labeled right with at least this probability
OPINION = 2.0  # leaders that are counted: |<v, z> + b| above this
